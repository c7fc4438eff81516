"""The parts of git that need no connection: credentials, the parsing of answers, and failures."""
