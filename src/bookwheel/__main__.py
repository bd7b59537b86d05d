"""`python -m bookwheel` is the command `bookwheel`."""

if __name__ == "__main__":
    try:
        from bookwheel.cli import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()
