"""The command that comes with the package."""

import subprocess
import sys
from pathlib import Path

import citree


def run(*arguments: str, program: list[str] | None = None, text: str = "") -> subprocess.CompletedProcess[str]:
    program = program or [sys.executable, "-m", "citree"]
    return subprocess.run([*program, *arguments], input=text, capture_output=True, encoding="utf-8", check=False, timeout=120)


def test_the_module_and_the_script_are_the_command(bundle: Path) -> None:
    script = Path(sys.executable).with_name("citree")
    for program in ([sys.executable, "-m", "citree"], [str(script)]):
        done = run("parse", str(bundle), "--lines", program=program, text="It rained.\n")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[1].startswith("1\tIt\t")


def test_exit_codes_are_those_of_the_command(tmp_path: Path) -> None:
    assert run("--version").stdout.split()[:2] == ["citree", citree.__version__]
    assert run("--help").returncode == 0
    assert run("nonsense").returncode == 2
    missing = run("parse", str(tmp_path / "nothing.citree"))
    assert missing.returncode == 2 and missing.stderr.startswith("citree: ")
    (tmp_path / "bad.conllu").write_text("1\tHi\n\n")
    assert run("check", str(tmp_path / "bad.conllu")).returncode == 1
