module holt.dev/guest

go 1.24.1

require (
	github.com/pavlo-v-chernykh/keystore-go/v4 v4.5.0
	github.com/ulikunitz/xz v0.5.15
	golang.org/x/crypto v0.42.0
	golang.org/x/net v0.44.0
	golang.org/x/sys v0.36.0
	gvisor.dev/gvisor v0.0.0-20250911055229-61a46406f068
	software.sslmate.com/src/go-pkcs12 v0.7.4
)

require (
	github.com/google/btree v1.1.2 // indirect
	golang.org/x/text v0.29.0 // indirect
	golang.org/x/time v0.7.0 // indirect
)
