"""Op families as data, with the tests that run them on every machine under every oracle."""
