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
//! A variant that mentions its own type, or a `Box`, `Rc` or `Arc`, leads deeper; one of numbers, texts, truth values
//! and collections is a leaf. One that mentions another type may lead back to this one. When no depth is left, leaves
//! are drawn; if there are none, variants with other types; and if each leads deeper, they have to end by themselves,
//! as `Vec` and `Option` do.

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
        Data::Struct(data) if holds_itself(name, &data.fields) => {
            let message =
                "Generate cannot be derived for a struct that holds another one: it has no end";
            return Err(Error::new(name.span(), message));
        }
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
    let mut all: Vec<Arm> = Vec::new();
    let mut leaves: [Vec<Arm>; 2] = Default::default();
    let mut is_endless = true;
    let mut place = 2;
    for variant in &data.variants {
        let options = VariantOptions::of(variant)?;
        let ident = &variant.ident;
        let (made, next) = construct(&quote!(Self::#ident), &variant.fields, place)?;
        place = next;
        if options.weight == 0 {
            continue;
        }
        let kind = match options.deeper {
            Some(true) => Kind::Deeper,
            Some(false) => Kind::Leaf,
            None => kind(name, &variant.fields),
        };
        match kind {
            Kind::Leaf => leaves[0].push((options.weight, made.clone())),
            Kind::Unknown => leaves[1].push((options.weight, made.clone())),
            Kind::Deeper => {}
        }
        is_endless &= options.deeper.is_none() && holds_itself(name, &variant.fields);
        all.push((options.weight, made));
    }
    if all.is_empty() {
        let message = "Generate cannot be derived for an enum without variants to draw";
        return Err(Error::new(name.span(), message));
    }
    if is_endless {
        let message = "Generate cannot be derived for an enum of which every variant holds another one: it has no end";
        return Err(Error::new(name.span(), message));
    }
    let of_all = one_of(0, &all);
    let [known, unknown] = leaves;
    let leaves = match known.is_empty() {
        true => unknown,
        false => known,
    };
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

/// What a variant leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// It ends here.
    Leaf,
    /// A type of somebody's, which may lead back.
    Unknown,
    /// Another value of the enum, or what may hold one.
    Deeper,
}

/// Types that hold nothing, and collections that are empty where no depth is left.
const LEAVES: &[&str] = &[
    "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32", "f64", "bool",
    "char", "String", "Vec", "Option", "std", "core", "alloc", "string", "vec", "option",
];

/// By the words of its fields' types. What is drawn `with` a function is up to that, and so a leaf.
fn kind(name: &Ident, fields: &Fields) -> Kind {
    let own = name.to_string();
    let of_word = |word: &String| match word.as_str() {
        word if word == own || ["Self", "Box", "Rc", "Arc"].contains(&word) => Kind::Deeper,
        word if LEAVES.contains(&word) => Kind::Leaf,
        _ => Kind::Unknown,
    };
    let of_field = |field: &syn::Field| {
        let words = words(field.ty.to_token_stream());
        let kind = words.iter().map(of_word).max().unwrap_or(Kind::Leaf);
        match has_function(field) && kind == Kind::Unknown {
            true => Kind::Leaf,
            false => kind,
        }
    };
    fields.iter().map(of_field).max().unwrap_or(Kind::Leaf)
}

/// Whether there is another value of the type in each value with these fields: behind pointers, in tuples and arrays, but
/// not in collections, which can be empty. What other types hold is not known here.
fn holds_itself(name: &Ident, fields: &Fields) -> bool {
    let own = name.to_string();
    fields.iter().any(|field| {
        let words = words(field.ty.to_token_stream());
        let is_own = |word: &String| *word == own || word == "Self";
        let is_pointer = |word: &String| ["Box", "Rc", "Arc"].contains(&word.as_str());
        !has_function(field)
            && words.iter().any(is_own)
            && words.iter().all(|word| is_own(word) || is_pointer(word))
    })
}

fn has_function(field: &syn::Field) -> bool {
    // What is wrong with its options is told where the field is made.
    FieldOptions::of(field).is_ok_and(|options| options.with.is_some())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(source: &str) -> Option<String> {
        let input = syn::parse_str(source).expect("a type");
        implementation(input).err().map(|error| error.to_string())
    }

    #[test]
    fn a_type_without_an_end_is_refused() {
        for source in [
            "struct Node { value: u8, next: Box<Node> }",
            "struct Node(u8, Rc<Self>);",
            "struct Node { both: (Box<Node>, Arc<Node>) }",
            "enum Node { One(Box<Node>), Two(u8, Box<Node>) }",
        ] {
            let message = error(source);
            assert!(
                message.is_some_and(|m| m.ends_with("it has no end")),
                "{source}"
            );
        }
    }

    #[test]
    fn a_type_with_an_end_is_not() {
        for source in [
            "struct Node { next: Option<Box<Node>> }",
            "struct Node { children: Vec<Node> }",
            "struct Node { #[generate(with = short)] next: Box<Node> }",
            "struct Node { other: Box<Other> }",
            "enum Node { End, One(Box<Node>) }",
        ] {
            assert_eq!(error(source), None, "{source}");
        }
    }
}
