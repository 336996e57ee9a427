//! A generator is the same function natively and as a module: it asks the same host the same questions, opens the
//! same spans and emits the same bytes. So what is measured natively, roles and places included, holds in a campaign.

use sandglass_generators::GENERATORS;
use sandglass_sdk::Role;
use sandglass_sdk::native::{Choice, Domain, Drawn, Outcome, Source, SpanRecord, run};
use wasmtime::{Caller, Engine, Error, Extern, Instance, Linker, Module, Result, Store};

/// Seeds per generator. Half of the long ones overrun natively and are run up to there.
const SEEDS: u64 = 40;

/// A host that gives recorded answers, if the questions are the recorded ones.
struct Host {
    expected: std::vec::IntoIter<Drawn>,
    answered: usize,
    labels: Vec<String>,
    spans: Vec<SpanRecord>,
    open: Vec<usize>,
    emitted: Vec<u8>,
    rejected: bool,
    overrun: bool,
}

impl Host {
    fn answer(&mut self, site: u32, role: i32, domain: Domain) -> Result<Choice> {
        let Some(drawn) = self.expected.next() else {
            self.overrun = true;
            return Err(Error::msg("no answer is left"));
        };
        let asked = (site, role, domain);
        let recorded = (drawn.site, drawn.role as i32, drawn.domain);
        if asked != recorded {
            return Err(Error::msg(format!(
                "draw {}: the module asks {asked:?}, natively it was {recorded:?}",
                self.answered
            )));
        }
        self.answered += 1;
        Ok(drawn.choice)
    }

    fn open(&mut self, label: i32) {
        self.open.push(self.spans.len());
        self.spans.push(SpanRecord {
            label: self.labels[label as usize].clone(),
            from: self.answered,
            to: self.answered,
            level: self.open.len() - 1,
            discarded: false,
            closed: false,
        });
    }

    fn close(&mut self, discard: i32) -> Result<()> {
        let index = self
            .open
            .pop()
            .ok_or_else(|| Error::msg("no span is open"))?;
        let span = &mut self.spans[index];
        span.to = self.answered;
        span.discarded = discard != 0;
        span.closed = true;
        Ok(())
    }
}

fn bytes<'c>(caller: &'c mut Caller<'_, Host>, ptr: u32, len: u32) -> &'c mut [u8] {
    let memory = match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => memory,
        _ => panic!("a generator exports its memory"),
    };
    &mut memory.data_mut(caller)[ptr as usize..][..len as usize]
}

fn wrong(choice: Choice) -> Error {
    Error::msg(format!("{choice:?} is no answer to this draw"))
}

fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    let module = "sandglass";
    type In<'a> = Caller<'a, Host>;
    linker.func_wrap(
        module,
        "draw_int",
        |mut c: In<'_>, site: u32, role: i32, lo: i64, hi: i64| match c.data_mut().answer(
            site,
            role,
            Domain::Int { lo, hi },
        )? {
            Choice::Int(n) => Ok(n),
            other => Err(wrong(other)),
        },
    )?;
    linker.func_wrap(
        module,
        "draw_bool",
        |mut c: In<'_>, site: u32, role: i32, num: u32, den: u32| match c.data_mut().answer(
            site,
            role,
            Domain::Bool { num, den },
        )? {
            Choice::Bool(yes) => Ok(i32::from(yes)),
            other => Err(wrong(other)),
        },
    )?;
    linker.func_wrap(
        module,
        "draw_float",
        |mut c: In<'_>, site: u32, role: i32, lo: f64, hi: f64| match c.data_mut().answer(
            site,
            role,
            Domain::Float { lo, hi },
        )? {
            Choice::Float(x) => Ok(x),
            other => Err(wrong(other)),
        },
    )?;
    linker.func_wrap(
        module,
        "draw_bytes",
        |mut c: In<'_>, site: u32, role: i32, ptr: u32, min: u32, max: u32| {
            let (min, max) = (min as usize, max as usize);
            match c
                .data_mut()
                .answer(site, role, Domain::Bytes { min, max })?
            {
                Choice::Bytes(drawn) => {
                    let count = drawn.len() as u32;
                    bytes(&mut c, ptr, count).copy_from_slice(&drawn);
                    Ok(count)
                }
                other => Err(wrong(other)),
            }
        },
    )?;
    // As natively: there is no table of strings.
    linker.func_wrap(
        module,
        "draw_string",
        |_: In<'_>, _: u32, _: i32, _: u32, _: u32| -1_i32,
    )?;
    linker.func_wrap(module, "label", |mut c: In<'_>, ptr: u32, len: u32| {
        let text = String::from_utf8_lossy(bytes(&mut c, ptr, len)).into_owned();
        c.data_mut().labels.push(text);
        c.data().labels.len() as i32 - 1
    })?;
    linker.func_wrap(module, "span_open", |mut c: In<'_>, label: i32| {
        c.data_mut().open(label)
    })?;
    linker.func_wrap(module, "span_close", |mut c: In<'_>, discard: i32| {
        c.data_mut().close(discard)
    })?;
    linker.func_wrap(module, "emit", |mut c: In<'_>, ptr: u32, len: u32| {
        let emitted = bytes(&mut c, ptr, len).to_vec();
        c.data_mut().emitted.extend(emitted);
    })?;
    linker.func_wrap(module, "reject", |mut c: In<'_>| -> Result<()> {
        c.data_mut().rejected = true;
        Err(Error::msg("rejected"))
    })?;
    Ok(linker)
}

/// Runs a module from its beginning on recorded answers.
fn replay(
    engine: &Engine,
    linker: &Linker<Host>,
    module: &Module,
    drawn: Vec<Drawn>,
) -> (Host, Result<()>) {
    let host = Host {
        expected: drawn.into_iter(),
        answered: 0,
        labels: Vec::new(),
        spans: Vec::new(),
        open: Vec::new(),
        emitted: Vec::new(),
        rejected: false,
        overrun: false,
    };
    let mut store = Store::new(engine, host);
    let ended = linker
        .instantiate(&mut store, module)
        .and_then(|instance: Instance| {
            instance
                .get_typed_func::<(), ()>(&mut store, "sandglass_generate")?
                .call(&mut store, ())
        });
    (store.into_data(), ended)
}

#[test]
fn a_module_draws_what_the_function_draws() {
    let engine = Engine::default();
    let linker = linker(&engine).expect("names that differ");
    for (name, make) in GENERATORS {
        let module =
            Module::new(&engine, sandglass_guests::generator(name).wasm).expect("a valid module");
        for seed in 0..SEEDS {
            let native = run(Source::Seeded(seed), make);
            let (host, ended) = replay(&engine, &linker, &module, native.drawn.clone());
            let what = format!(
                "{name}, seed {seed}: {:?}",
                ended.err().map(|error| error.to_string())
            );
            assert_eq!(host.answered, native.drawn.len(), "{what}");
            match native.outcome {
                Outcome::Done(input) => {
                    assert!(host.emitted == input, "{what}");
                    assert!(host.spans == native.spans, "{what}");
                }
                Outcome::Rejected => assert!(host.rejected, "{what}"),
                Outcome::Overrun => assert!(host.overrun, "{what}"),
                Outcome::Impossible(why) => panic!("{what}: {why}"),
            }
        }
    }
}

/// The comparison above can fail: another answer than the recorded one leads to other questions.
#[test]
fn another_site_or_role_is_noticed() {
    let engine = Engine::default();
    let linker = linker(&engine).expect("names that differ");
    let module =
        Module::new(&engine, sandglass_guests::generator("bst").wasm).expect("a valid module");
    let native = run(Source::Seeded(1), GENERATORS[0].1);
    let change: [fn(&mut Drawn); 2] = [
        |drawn| drawn.site ^= 1,
        |drawn| drawn.role = Role::Structure,
    ];
    for change in change {
        let mut drawn = native.drawn.clone();
        change(&mut drawn[0]);
        let (host, ended) = replay(&engine, &linker, &module, drawn);
        assert!(ended.is_err() && host.answered == 0);
    }
}
