"""Many questions about many documents: a table in, a table with answers out."""
