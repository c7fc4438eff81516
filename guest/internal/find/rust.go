package find

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// rustExpression converts an expression to ripgrep's dialect (docs.rs/regex), so that every line
// that matches here also matches there. It spells out the differences: classes and case as lists of
// characters, and invalid UTF-8 as bytes, which count as a character only here. It returns false if
// the conversion is impossible.
func rustExpression(tree *syntax.Regexp) (string, bool) {
	w := rustWriter{}
	w.write(tree)
	return w.String(), !w.impossible
}

type rustWriter struct {
	strings.Builder
	ends       bool // an end of line has been written
	impossible bool
}

// assertion writes an assertion about the position. A line here ends before \r\n, which is
// converted to an optional \r. An assertion after it would be evaluated behind the \r, so it is
// refused.
func (w *rustWriter) assertion(text string) {
	w.impossible = w.impossible || w.ends
	w.WriteString(text)
}

func (w *rustWriter) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		w.WriteString(`(?:)`)
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			w.character(r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		w.class(re.Rune)
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		w.class([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpBeginLine, syntax.OpBeginText:
		w.assertion(`^`)
	case syntax.OpEndLine, syntax.OpEndText:
		w.ends = true
		w.WriteString(`(?:\r?$)`)
	case syntax.OpWordBoundary:
		w.assertion(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		w.assertion(`(?-u:\B)`)
	case syntax.OpCapture:
		w.group(re.Sub[0], "")
	case syntax.OpStar:
		w.group(re.Sub[0], "*")
	case syntax.OpPlus:
		w.group(re.Sub[0], "+")
	case syntax.OpQuest:
		w.group(re.Sub[0], "?")
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.WriteString(`(?:`)
		for i, sub := range re.Sub {
			if i > 0 {
				w.WriteByte('|')
			}
			w.write(sub)
		}
		w.WriteByte(')')
	default: // never matches, or is removed by Simplify
		w.impossible = true
	}
}

func (w *rustWriter) group(re *syntax.Regexp, times string) {
	w.WriteString(`(?:`)
	w.write(re)
	w.WriteByte(')')
	w.WriteString(times)
}

// character writes one character, with its other cases if fold is set.
func (w *rustWriter) character(r rune, fold bool) {
	ranges := []rune{r, r}
	if fold {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			ranges = append(ranges, other, other)
		}
	}
	w.class(ranges)
}

// class writes pairs of first and last characters. It leaves out line ends, because no line
// contains one. Invalid UTF-8 is U+FFFD here.
func (w *rustWriter) class(ranges []rune) {
	var b strings.Builder
	invalid := false
	for i := 0; i+1 < len(ranges); i += 2 {
		from, to := ranges[i], ranges[i+1]
		invalid = invalid || from <= unicode.ReplacementChar && unicode.ReplacementChar <= to
		for _, part := range [][2]rune{{from, min(to, '\n'-1)}, {max(from, '\n'+1), min(to, 0xD7FF)}, {max(from, 0xE000), to}} {
			if part[0] <= part[1] {
				fmt.Fprintf(&b, `\x{%X}-\x{%X}`, part[0], part[1])
			}
		}
	}
	switch {
	case b.Len() == 0:
		w.impossible = true
	case invalid:
		fmt.Fprintf(w, `(?:[%s]|(?-u:[\x80-\xFF]))`, b.String())
	default:
		fmt.Fprintf(w, `[%s]`, b.String())
	}
}
