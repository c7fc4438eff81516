package supervise

import "testing"

func TestCommandsDieForMemoryBeforeSupervisorsAndThoseBeforeTheGuest(t *testing.T) {
	for guest, want := range map[int][2]int{-1000: {-1000, 0}, 0: {250, 500}, 100: {350, 600}, 700: {950, 1000}, 1000: {1000, 1000}} {
		if supervisor, command := scoresBeside(guest); [2]int{supervisor, command} != want {
			t.Errorf("%d: %d, %d", guest, supervisor, command)
		}
	}
}
