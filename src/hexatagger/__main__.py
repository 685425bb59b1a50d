"""`python -m hexatagger` is the command `hexatagger`."""

from hexatagger.cli import main

main()
