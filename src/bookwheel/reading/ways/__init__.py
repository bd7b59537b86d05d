"""The ways of reading that the loop is compared with: the same model, the same words, one algorithm a file."""
