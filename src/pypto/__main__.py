"""``python -m pypto``: the command line."""

from pypto.cli import main

raise SystemExit(main())
