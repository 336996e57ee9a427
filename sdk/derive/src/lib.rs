//! `#[derive(Generate)]` for `sandglass-sdk`: structs field by field, enums by a weighted choice of variant.
//!
//! ```text
//! #[derive(Generate)]                   impl Generate for Sum {
//! enum Sum {                                fn generate(_: Site, depth: Depth) -> Sum {
//!     #[generate(weight = 3)]                   let _span = span!("Sum");
//!     Number(u8),                   →           match depth.down() {
//!     Add(Box<Sum>, Box<Sum>),                      None => Sum::Number(…),
//! }                                                 Some(depth) => one_of!(…; 3 => Sum::Number(…), 1 => Sum::Add(…, …)),
//!                                               }
//! ```
//!
//! A variant that mentions its own type, or a `Box`, `Rc` or `Arc`, leads deeper; the others are leaves, and only
//! they are drawn when no depth is left.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Data, DataEnum, DeriveInput, Error, Fields, LitInt, Path, Result, Variant, parse_quote};

/// Implements `Generate`.
///
/// On a variant: `#[generate(weight = N)]` (1 if not given; 0 leaves it out), `#[generate(leaf)]` and
/// `#[generate(deeper)]` where the guess about recursion is wrong. On a field: `#[generate(with = function)]`, a
/// `fn(Site, Depth) -> T`.
#[proc_macro_derive(Generate, attributes(generate))]
pub fn derive_generate(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    implementation(input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn implementation(mut input: DeriveInput) -> Result<TokenStream> {
    for parameter in input.generics.type_params_mut() {
        parameter
            .bounds
            .push(parse_quote!(::sandglass_sdk::Generate));
    }
    let name = &input.ident;
    let label = name.to_string();
    let body = match &input.data {
        Data::Struct(data) => construct(&quote!(Self), &data.fields, 1)?.0,
        Data::Enum(data) => choose(name, data)?,
        Data::Union(_) => {
            let message =
                "Generate cannot be derived for a union: nothing says which field is meant";
            return Err(Error::new(name.span(), message));
        }
    };
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::sandglass_sdk::Generate for #name #arguments #conditions {
            fn generate(_: ::sandglass_sdk::Site, depth: ::sandglass_sdk::Depth) -> Self {
                const SITE: ::sandglass_sdk::Site =
                    ::sandglass_sdk::Site::named(concat!(module_path!(), "::", #label));
                let _span = ::sandglass_sdk::span!(#label);
                let _ = depth;
                #body
            }
        }
    })
}

/// An expression that makes a struct or a variant, and the number of the next free place within the type's site.
fn construct(path: &TokenStream, fields: &Fields, first: u32) -> Result<(TokenStream, u32)> {
    let mut values = Vec::new();
    let mut place = first;
    for field in fields {
        let kind = &field.ty;
        let site = quote!(SITE.part(#place));
        let value = match FieldOptions::of(field)?.with {
            Some(function) => quote!(#function(#site, depth)),
            None => quote!(<#kind as ::sandglass_sdk::Generate>::generate(#site, depth)),
        };
        values.push(match &field.ident {
            Some(name) => quote!(#name: #value),
            None => value,
        });
        place += 1;
    }
    let made = match fields {
        Fields::Named(_) => quote!(#path { #(#values),* }),
        Fields::Unnamed(_) => quote!(#path(#(#values),*)),
        Fields::Unit => path.clone(),
    };
    Ok((made, place))
}

/// One arm of the choice: its weight, and what it makes.
type Arm = (u32, TokenStream);

fn choose(name: &Ident, data: &DataEnum) -> Result<TokenStream> {
    let (mut all, mut leaves): (Vec<Arm>, Vec<Arm>) = (Vec::new(), Vec::new());
    let mut place = 2;
    for variant in &data.variants {
        let options = VariantOptions::of(variant)?;
        let ident = &variant.ident;
        let (made, next) = construct(&quote!(Self::#ident), &variant.fields, place)?;
        place = next;
        if options.weight == 0 {
            continue;
        }
        if !options
            .deeper
            .unwrap_or_else(|| leads_deeper(name, &variant.fields))
        {
            leaves.push((options.weight, made.clone()));
        }
        all.push((options.weight, made));
    }
    if all.is_empty() {
        let message = "Generate cannot be derived for an enum without variants to draw";
        return Err(Error::new(name.span(), message));
    }
    let of_all = one_of(0, &all);
    if leaves.len() == all.len() || leaves.is_empty() {
        return Ok(of_all);
    }
    let of_leaves = one_of(1, &leaves);
    Ok(quote! {
        match depth.down() {
            None => #of_leaves,
            Some(depth) => {
                let _ = depth;
                #of_all
            }
        }
    })
}

fn one_of(place: u32, arms: &[Arm]) -> TokenStream {
    if let [(_, only)] = arms {
        return only.clone();
    }
    let arms = arms.iter().map(|(weight, made)| {
        let weight = LitInt::new(&weight.to_string(), Span::call_site());
        quote!(#weight => #made)
    });
    let site = quote!(SITE.part(#place).with_role(::sandglass_sdk::Role::Structure));
    quote!(::sandglass_sdk::one_of!(#site; #(#arms),*))
}

/// Whether a word of the fields' types is the enum's own or that of a pointer.
fn leads_deeper(name: &Ident, fields: &Fields) -> bool {
    let own = name.to_string();
    fields.iter().any(|field| {
        words(field.ty.to_token_stream())
            .iter()
            .any(|word| *word == own || ["Self", "Box", "Rc", "Arc"].contains(&word.as_str()))
    })
}

fn words(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(word) => found.push(word.to_string()),
            proc_macro2::TokenTree::Group(group) => found.extend(words(group.stream())),
            _ => {}
        }
    }
    found
}

struct VariantOptions {
    weight: u32,
    deeper: Option<bool>,
}

impl VariantOptions {
    fn of(variant: &Variant) -> Result<VariantOptions> {
        let mut options = VariantOptions {
            weight: 1,
            deeper: None,
        };
        for attribute in variant
            .attrs
            .iter()
            .filter(|a| a.path().is_ident("generate"))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("weight") {
                    options.weight = meta.value()?.parse::<LitInt>()?.base10_parse()?;
                } else if meta.path.is_ident("leaf") {
                    options.deeper = Some(false);
                } else if meta.path.is_ident("deeper") {
                    options.deeper = Some(true);
                } else {
                    return Err(
                        meta.error("unknown option, expected `weight = N`, `leaf` or `deeper`")
                    );
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}

struct FieldOptions {
    with: Option<Path>,
}

impl FieldOptions {
    fn of(field: &syn::Field) -> Result<FieldOptions> {
        let mut options = FieldOptions { with: None };
        for attribute in field.attrs.iter().filter(|a| a.path().is_ident("generate")) {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("with") {
                    return Err(meta.error("unknown option, expected `with = function`"));
                }
                options.with = Some(meta.value()?.parse()?);
                Ok(())
            })?;
        }
        Ok(options)
    }
}
