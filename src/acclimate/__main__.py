"""`python -m acclimate` is `acclimate`."""

from acclimate.cli.main import main

if __name__ == "__main__":
    main()
