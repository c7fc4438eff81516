package find

import (
	"bytes"
	"regexp"
	"regexp/syntax"

	"holt.dev/guest/internal/fault"
)

// maxPatternBytes limits a pattern, because the memory of an expression grows with its length.
const maxPatternBytes = 4096

// Content describes the text that a line has to contain.
type Content struct {
	Pattern       string `json:"pattern"`
	Regex         bool   `json:"regex"` // RE2 syntax; otherwise the pattern is plain text
	CaseSensitive bool   `json:"case_sensitive"`
}

// Matcher finds a pattern in lines.
type Matcher struct {
	literal []byte // the exact text; nil if pattern is used
	pattern *regexp.Regexp
	tree    *syntax.Regexp // for ripgrep; nil for an exact text
}

// Compile compiles the pattern.
func (c *Content) Compile() (*Matcher, error) {
	expression, err := c.Expression()
	if err != nil {
		return nil, err
	}
	if !c.Regex && c.CaseSensitive {
		return &Matcher{literal: []byte(c.Pattern)}, nil
	}
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return nil, badPattern(err)
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, badPattern(err)
	}
	return &Matcher{pattern: pattern, tree: tree.Simplify()}, nil
}

// Expression returns the pattern as a regular expression.
func (c *Content) Expression() (string, error) {
	if c.Pattern == "" || len(c.Pattern) > maxPatternBytes {
		return "", fault.New(fault.InvalidRequest, "pattern must be 1 to %d bytes", maxPatternBytes)
	}
	expression := c.Pattern
	if !c.Regex {
		expression = regexp.QuoteMeta(expression)
	}
	if !c.CaseSensitive {
		expression = "(?i)" + expression
	}
	return expression, nil
}

func badPattern(err error) error {
	return fault.New(fault.InvalidRequest, "pattern: %s (the syntax is RE2's)", err)
}

// Find returns the place of the first match in a line; start is -1 if there is none.
func (m *Matcher) Find(line []byte) (start, end int) {
	if m.literal != nil {
		start = bytes.Index(line, m.literal)
		return start, start + len(m.literal)
	}
	at := m.pattern.FindIndex(line)
	if at == nil {
		return -1, -1
	}
	return at[0], at[1]
}

// skip returns the length of the beginning of a block that certainly has no match. It ends at the
// beginning of a line.
func (m *Matcher) skip(block []byte) int {
	if m.literal == nil {
		return 0
	}
	at := bytes.Index(block, m.literal)
	if at < 0 {
		return len(block)
	}
	return bytes.LastIndexByte(block[:at], '\n') + 1
}
