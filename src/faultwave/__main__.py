"""`python -m faultwave`: the program, where its command is not on the path."""

import os
import sys

# Python puts the working folder first on the path of imports, where a file named like a module of the library would be run.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from faultwave.cli.main import app

app(prog_name="faultwave")
