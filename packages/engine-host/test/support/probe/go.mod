module holt.dev/probe

go 1.24
