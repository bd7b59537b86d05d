"""`python -m bookwheel` is the command `bookwheel`."""

from bookwheel.cli import main

if __name__ == "__main__":
    main()
