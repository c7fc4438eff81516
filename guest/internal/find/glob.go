// Package find searches files by name and by content. It walks and matches by itself, on
// descriptors, and opens only regular files. The runtime's ripgrep is used only to rule out files
// without matches.
package find

import (
	"regexp"
	"strings"

	"holt.dev/guest/internal/fault"
)

// maxGlobBytes limits one glob, because the time to match grows with its length.
const maxGlobBytes = 1024

// Globs select paths, as `-g` of ripgrep does. A glob that begins with ! excludes, and the last
// matching glob decides. If there is a glob that includes, paths without a match are excluded.
type Globs struct {
	rules []rule
	wants bool // true if a glob includes paths
}

// ParseGlobs parses globs: * ? [] ** and {a,b}. A glob with a slash is relative to the top, and any
// other applies at every depth.
func ParseGlobs(texts []string) (*Globs, error) {
	g := &Globs{}
	for _, text := range texts {
		if text == "" || text == "!" || len(text) > maxGlobBytes || strings.IndexByte(text, 0) >= 0 {
			return nil, fault.New(fault.InvalidRequest, "glob %q must be 1 to %d bytes without NUL", text, maxGlobBytes)
		}
		r, ok := parseRule(text, true)
		if !ok {
			return nil, fault.New(fault.InvalidRequest, "glob %q has a bracket or brace that is not closed", text)
		}
		g.rules = append(g.rules, r)
		g.wants = g.wants || !r.negated
	}
	return g, nil
}

// Wants returns true if a path, relative to the top, is selected.
func (g *Globs) Wants(path string, isDir bool) bool {
	for i := len(g.rules) - 1; i >= 0; i-- {
		if g.rules[i].matches(path, isDir) {
			return !g.rules[i].negated
		}
	}
	return !g.wants
}

// Prunes returns true if no descendant of a directory is selected.
func (g *Globs) Prunes(path string) bool {
	for i := len(g.rules) - 1; i >= 0; i-- {
		if g.rules[i].matches(path, true) {
			return g.rules[i].negated
		}
	}
	return false
}

// rule is one glob. Most are a name or *.extension, which need no regular expression.
type rule struct {
	negated  bool // begins with !
	dirOnly  bool // ends with /
	anyDepth bool // contains no other slash, and applies to names
	exact    string
	suffix   string
	pattern  *regexp.Regexp
}

func parseRule(text string, braces bool) (rule, bool) {
	r := rule{}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		r.negated, text = true, rest
	}
	if rest, ok := strings.CutSuffix(text, "/"); ok {
		r.dirOnly, text = true, rest
	}
	r.anyDepth = !strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	special := `*?[\`
	if braces {
		special += "{}"
	}
	if !strings.ContainsAny(text, special) {
		r.exact = text
		return r, text != ""
	}
	if rest, ok := strings.CutPrefix(text, "*"); ok && r.anyDepth && !strings.ContainsAny(rest, special) {
		r.suffix = rest
		return r, true
	}
	expression, ok := expressionOf(text, braces)
	if !ok {
		return rule{}, false
	}
	pattern, err := regexp.Compile(expression)
	r.pattern = pattern
	return r, err == nil
}

func (r *rule) matches(path string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if r.anyDepth {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	switch {
	case r.pattern != nil:
		return r.pattern.MatchString(path)
	case r.exact != "":
		return path == r.exact
	default:
		return strings.HasSuffix(path, r.suffix)
	}
}

// expressionOf converts a glob to a regular expression. ** matches several directories only if it
// is a whole part (gitignore(5)).
func expressionOf(glob string, braces bool) (string, bool) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	depth := 0
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		atPart := i == 0 || glob[i-1] == '/'
		switch {
		case c == '*' && atPart && strings.HasPrefix(glob[i:], "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case c == '*' && atPart && glob[i:] == "**":
			b.WriteString(`.+`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			class, length := classOf(glob[i:])
			if length == 0 {
				return "", false
			}
			b.WriteString(class)
			i += length - 1
		case c == '\\' && i+1 < len(glob):
			i++
			b.WriteString(quoteByte(glob[i]))
		case braces && c == '{':
			depth++
			b.WriteString(`(?:`)
		case braces && c == '}' && depth > 0:
			depth--
			b.WriteByte(')')
		case braces && c == ',' && depth > 0:
			b.WriteByte('|')
		default:
			b.WriteString(quoteByte(c))
		}
	}
	b.WriteString(`\z`)
	return b.String(), depth == 0
}

func quoteByte(c byte) string {
	if c < 0x80 {
		return regexp.QuoteMeta(string(rune(c)))
	}
	return string([]byte{c}) // a part of a character, whose other bytes follow
}

// classOf converts a bracket expression and returns its length in the glob, or 0 if it is not
// closed.
func classOf(glob string) (class string, length int) {
	i := 1
	negated := i < len(glob) && (glob[i] == '!' || glob[i] == '^')
	if negated {
		i++
	}
	first := i
	for i < len(glob) && (glob[i] != ']' || i == first) {
		if glob[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(glob) {
		return "", 0
	}
	var b strings.Builder
	b.WriteByte('[')
	if negated {
		b.WriteString(`^/`)
	}
	for _, r := range strings.ReplaceAll(glob[first:i], `\`, "") {
		if r == '[' || r == ']' || r == '^' || r == '\\' || r == '&' || r == '~' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte(']')
	return b.String(), i + 1
}
