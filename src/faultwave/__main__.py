"""The program: `faultwave`, and `python -m faultwave` where its command is not on the path."""

import os
import sys


def main() -> None:
    """Run the program; an interruption while its modules are imported ends it without a traceback."""
    try:
        from faultwave.cli.main import app
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="faultwave")


if __name__ == "__main__":
    # Python puts the working folder first on the path of imports, where a file named like a module of the library would be run.
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
    main()
