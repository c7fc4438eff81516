package archive

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

// ModeChange returns the new mode of a file from its old one.
type ModeChange func(mode uint32, isDir bool) uint32

// modeUmask holds the bits that a clause without a "who" does not change, as for commands of a
// runtime.
const modeUmask = 0o022

// maxModeText limits the length of a change's text.
const maxModeText = 256

const allBits = 0o7777

var (
	whoBits  = map[byte]uint32{'u': unix.S_ISUID | 0o700, 'g': unix.S_ISGID | 0o070, 'o': unix.S_ISVTX | 0o007, 'a': allBits}
	permBits = map[byte]uint32{'r': 0o444, 'w': 0o222, 'x': 0o111, 's': unix.S_ISUID | unix.S_ISGID, 't': unix.S_ISVTX, 'X': 0}
	copyBits = map[byte]uint{'u': 6, 'g': 3, 'o': 0}
)

// modeStep is one operation of a symbolic mode.
type modeStep struct {
	op        byte
	who       uint32 // 0: all, within the umask
	bits      uint32
	copied    byte // the class whose permissions are copied; 0: none
	ifAny     bool // X: execute permission if a class has it, or if it is a directory
	numeric   bool
	mentioned uint32 // named bits; a directory keeps set-id bits that are not named
}

// ParseModeChange parses a mode as chmod(1) does: octal digits, or clauses like `u+rwX,g=r,o-w`.
// Source: POSIX.1-2024, chmod, "Operands". As in GNU chmod, directories keep set-id bits that are
// not named.
func ParseModeChange(text string) (ModeChange, error) {
	if bits, err := strconv.ParseUint(text, 8, 32); err == nil && bits <= allBits {
		return func(uint32, bool) uint32 { return uint32(bits) }, nil
	}
	var steps []modeStep
	if len(text) <= maxModeText {
		for _, clause := range strings.Split(text, ",") {
			of := parseClause(clause)
			if of == nil {
				steps = nil
				break
			}
			steps = append(steps, of...)
		}
	}
	if len(steps) == 0 {
		return nil, fault.New(fault.InvalidRequest, "mode must be octal, at most 7777, or symbolic as for chmod (u+rwX,g=r)")
	}
	return func(mode uint32, isDir bool) uint32 {
		mode &= allBits
		for _, step := range steps {
			mode = step.apply(mode, isDir)
		}
		return mode
	}, nil
}

// parseClause parses `[who...](operator permissions)...`. It returns nil if the text has another
// form.
func parseClause(clause string) []modeStep {
	var who uint32
	at := 0
	for ; at < len(clause) && whoBits[clause[at]] != 0; at++ {
		who |= whoBits[clause[at]]
	}
	var steps []modeStep
	for at < len(clause) && strings.IndexByte("+-=", clause[at]) >= 0 {
		step := modeStep{op: clause[at], who: who}
		end := at + 1
		for end < len(clause) && strings.IndexByte("+-=", clause[end]) < 0 {
			end++
		}
		if !step.read(clause[at+1:end]) || (step.numeric && (who != 0 || end != len(clause))) {
			return nil
		}
		steps = append(steps, step)
		at = end
	}
	if at != len(clause) {
		return nil
	}
	return steps
}

func (s *modeStep) read(permissions string) bool {
	if bits, err := strconv.ParseUint(permissions, 8, 32); err == nil && bits <= allBits {
		s.numeric, s.bits, s.who, s.mentioned = true, uint32(bits), allBits, allBits
		if permissions[0] == '+' || permissions[0] == '-' {
			return false
		}
		return true
	}
	if len(permissions) == 1 {
		if _, ok := copyBits[permissions[0]]; ok {
			s.copied = permissions[0]
			return true
		}
	}
	for i := range len(permissions) {
		bits, ok := permBits[permissions[i]]
		if !ok {
			return false
		}
		s.bits |= bits
		s.ifAny = s.ifAny || permissions[i] == 'X'
	}
	s.mentioned = s.bits
	if s.who != 0 {
		s.mentioned &= s.who
	}
	return true
}

func (s *modeStep) apply(mode uint32, isDir bool) uint32 {
	bits := s.bits
	if s.copied != 0 {
		bits = (mode >> copyBits[s.copied] & 7) * 0o111
	}
	if s.ifAny && (isDir || mode&0o111 != 0) {
		bits |= 0o111
	}
	var omitted uint32
	if isDir {
		omitted = (unix.S_ISUID | unix.S_ISGID) &^ s.mentioned
	}
	affected := s.who
	if affected == 0 {
		affected = allBits &^ modeUmask
	}
	bits &= affected &^ omitted
	switch s.op {
	case '+':
		return mode | bits
	case '-':
		return mode &^ bits
	}
	kept := omitted
	if s.who != 0 {
		kept |= ^s.who
	}
	return mode&kept&allBits | bits
}
