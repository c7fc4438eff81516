# How the scripts speak: what is done, and what is missing with the command that mends it.
# shellcheck shell=bash

problems=0

# Says what is being done.
say() { printf '%s\n' "$*"; }

# One missing thing: what is wrong, and what to type.
fix() {
	printf 'FIX: %s  # %s\n' "$2" "$1"
	problems=$((problems + 1))
}

# Whether a command exists.
have() { command -v "$1" >/dev/null 2>&1; }

# Whether version $1 is at least $2, in the order of versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Ends with all that was found, if anything was.
stop_on_problems() {
	[ "$problems" -eq 0 ] && return
	say "Holt cannot run here yet: $problems thing(s) to fix, named above."
	exit 1
}
