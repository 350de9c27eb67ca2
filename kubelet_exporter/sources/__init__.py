"""All I/O towards the node and the API server, and recordings of it. Each source catches its errors in one place."""
