"""`python -m sidecar`: the command line."""

from sidecar.cli import main

if __name__ == "__main__":
    main()
