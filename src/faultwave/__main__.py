"""`python -m faultwave`: the program, where its command is not on the path."""

from faultwave.cli.main import app

app(prog_name="faultwave")
