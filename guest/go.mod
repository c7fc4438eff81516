module holt.dev/guest

go 1.26.3

require (
	github.com/pavlo-v-chernykh/keystore-go/v4 v4.5.0
	github.com/ulikunitz/xz v0.5.15
	golang.org/x/crypto v0.49.0
	golang.org/x/net v0.52.0
	golang.org/x/sys v0.43.0
	gvisor.dev/gvisor v0.0.0-20260701204157-69c2d17aea96
	software.sslmate.com/src/go-pkcs12 v0.7.4
)

require (
	github.com/google/btree v1.1.2 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/text v0.36.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)
