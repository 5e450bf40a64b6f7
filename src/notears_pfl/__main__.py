"""``python -m notears_pfl`` is the command ``notears-pfl``."""

import sys

from notears_pfl.cli import main

sys.exit(main())
