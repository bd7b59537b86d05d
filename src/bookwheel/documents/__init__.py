"""Documents: opening files, folders and addresses, and reading every format in children that can be killed."""
