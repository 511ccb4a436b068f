//! Settings of the real binary: which source wins, and that a bad one ends it with code 2 and is named.
//! May import: the crate.

use std::process::{Command, Output};

use answerable::ids::{Micros, WorkspaceId};
use answerable::store::{Store, StoreOptions, Workspace};

fn serve(flags: &[&str], environment: &[(&str, &str)], file: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.toml");
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_answerable"));
    command.current_dir(folder.path()).env_clear().envs(environment.iter().copied());
    command.arg("serve").arg("--config").arg(&path).args(flags).output().unwrap()
}

fn refused(flags: &[&str], environment: &[(&str, &str)], file: &str) -> String {
    let output = serve(flags, environment, file);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    told
}

/// Each source sets another value that is out of range, so the one that is named is the one that won.
#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let (flag, environment) = (["--readers", "1001"], [("ANSWERABLE_READERS", "1002")]);
    let file = "[limits]\nreaders = 1003\n";
    assert!(refused(&flag, &environment, file).contains("readers is 1001, and must be from 1 to 64"));
    assert!(refused(&[], &environment, file).contains("readers is 1002,"));
    assert!(refused(&[], &[], file).contains("readers is 1003,"));
}

#[test]
fn a_setting_that_cannot_be_used_ends_with_code_2_and_is_named() {
    assert!(refused(&[], &[], "colour = 'red'").contains("colour"));
    assert!(refused(&[], &[], "[limits]\nreaderz = 1").contains("readerz"));
    assert!(refused(&[], &[], "log_filter = 'answerable=loud'").contains("log_filter"));
    assert!(refused(&["--database", "mysql://here/db"], &[], "").contains("must be sqlite:FILE or postgres://"));
    assert!(refused(&[], &[("ANSWERABLE_LISTEN", "everywhere")], "").contains("listen"));
    assert!(refused(&["--colour", "red"], &[], "").contains("--colour"));
}

#[test]
fn help_names_every_limit_with_its_default() {
    let output = serve(&["--help"], &[], "");
    let help = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for (flag, default) in
        [("--readers", "2"), ("--dispatch-timeout-ms", "30000"), ("--body-bytes-max", "1048576")]
    {
        let (_, rest) = help.split_once(&format!("{flag} ")).unwrap();
        let (own, _) = rest.split_once("[env:").unwrap();
        assert!(own.replace('_', "").contains(&format!("[default: {default}]")), "{flag}: {own}");
    }
}

/// A store that is somebody's own is bad usage, and is left as it is.
#[test]
fn a_demo_on_a_store_with_other_data_ends_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("own.db").display());
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_answerable"));
        command.current_dir(folder.path()).env_clear().args(args).args(["--database", &database]).output().unwrap()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = Store::open(&StoreOptions::new(folder.path().join("own.db"))).await.unwrap();
        let workspace = Workspace { id: WorkspaceId::new("w"), name: "mine".into(), created_at: Micros(1) };
        store.workspace_insert(workspace).await.unwrap();
        store.close().await.unwrap();
    });
    let output = run(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("this one holds other data"), "{told}");
}
