//! Named points at which a crash test kills this server or makes one of its calls fail. Without the feature
//! `failpoints` nothing of it is in the binary. May import: nothing of this crate.
//!
//! `FAILPOINTS` arms them, in the words of the crate `fail`: `CP-26=return` kills at the first passage,
//! `CP-26=2*off->return` at the third, `CP-11=sleep(500)` holds it there, `bus=1*return` breaks one call.

/// A crash point: armed with `return`, the process is gone here, as by `kill -9`.
#[inline]
pub fn point(name: &'static str) {
    #[cfg(feature = "failpoints")]
    armed::reach(name);
    #[cfg(not(feature = "failpoints"))]
    let _unarmed = name;
}

/// A call that may be made to fail: armed with `return(how)`, it says how.
#[inline]
pub fn fault(name: &'static str) -> Option<String> {
    #[cfg(feature = "failpoints")]
    return armed::fault(name);
    #[cfg(not(feature = "failpoints"))]
    {
        let _unarmed = name;
        None
    }
}

/// Arms what the environment says, until it is dropped.
#[cfg(feature = "failpoints")]
pub fn arm() -> impl Drop {
    armed::Armed(Some(fail::FailScenario::setup()))
}

#[cfg(feature = "failpoints")]
mod armed {
    use rustix::process::{Signal, getpid, kill_process};
    use tokio::runtime::{Handle, RuntimeFlavor};

    pub(super) struct Armed(pub(super) Option<fail::FailScenario<'static>>);

    impl Drop for Armed {
        fn drop(&mut self) {
            if let Some(scenario) = self.0.take() {
                scenario.teardown();
            }
        }
    }

    /// A point holds who passes it, and nobody else: its thread's other tasks go to another one.
    pub(super) fn reach(name: &'static str) {
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| pass(name)),
            _ => pass(name),
        }
    }

    fn pass(name: &'static str) {
        fail::fail_point!(name, |_| {
            let _sent = kill_process(getpid(), Signal::KILL);
            // Not one step further, however late the signal is.
            loop {
                std::thread::park();
            }
        });
    }

    pub(super) fn fault(name: &'static str) -> Option<String> {
        fail::fail_point!(name, |how| Some(how.unwrap_or_default()));
        None
    }
}
