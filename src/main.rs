//! The `citree` command.

fn main() -> std::process::ExitCode {
    citree::cli::main()
}
