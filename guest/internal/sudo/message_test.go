package sudo

import (
	"reflect"
	"testing"
)

func TestARequestArrivesAsItWasSent(t *testing.T) {
	r := &request{Argv: []string{"sudo", "", "a\xff b"}, Env: []string{"A=1"}, Dir: "/x", Dev: 1 << 60, Ino: 7, Umask: 0o27}
	got, err := decodeRequest(r.encode()[4:])
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestRefusesRequestsThatNothingCouldRun(t *testing.T) {
	for name, r := range map[string]request{
		"no argv":            {Dir: "/"},
		"NUL in argv":        {Argv: []string{"sudo", "a\x00b"}, Dir: "/"},
		"NUL in env":         {Argv: []string{"sudo"}, Env: []string{"A=\x00"}, Dir: "/"},
		"NUL in dir":         {Argv: []string{"sudo"}, Dir: "/\x00"},
		"more than any mode": {Argv: []string{"sudo"}, Dir: "/", Umask: 0o1000},
	} {
		if _, err := decodeRequest(r.encode()[4:]); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add((&request{Argv: []string{"sudo", "id"}, Env: []string{"A=1"}, Dir: "/", Dev: 1, Ino: 2, Umask: 0o22}).encode()[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRequest(b)
		if err != nil {
			return
		}
		if again, err := decodeRequest(r.encode()[4:]); err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v, %+v, %v", r, again, err)
		}
	})
}
