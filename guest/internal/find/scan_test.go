package find

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func found(t *testing.T, c Content, r io.Reader) ([]string, error) {
	t.Helper()
	m, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	err = m.scan(r, func(l Line) error {
		lines = append(lines, fmt.Sprintf("%d:%d+%d:%s:%v", l.Number, l.Column, l.Length, l.Text, l.Truncated))
		return nil
	})
	return lines, err
}

func TestScanReportsLinesAndColumns(t *testing.T) {
	text := "one\r\ntwo é two\n\nTHREE two\nlast"
	for _, c := range []struct {
		content Content
		want    []string
	}{
		{Content{"two", false, true}, []string{"2:1+3:two é two:false", "4:7+3:THREE two:false"}},
		{Content{"é", false, true}, []string{"2:5+1:two é two:false"}},
		{Content{"three", false, false}, []string{"4:1+5:THREE two:false"}},
		{Content{"e$", true, true}, []string{"1:3+1:one:false"}},
		{Content{`^\w{4}$`, true, true}, []string{"5:1+4:last:false"}},
		{Content{`^$`, true, true}, []string{"3:1+0::false"}},
		{Content{`a.t`, false, true}, nil},
		{Content{"nothing", false, true}, nil},
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := found(t, c.content, r)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v: %q, %v", c.content, got, err)
			}
		}
	}
}

func TestScanHasLimits(t *testing.T) {
	long := strings.Repeat("é", maxLineBytes) // twice as many bytes
	text := "x\n" + long + "needle\nneedle after\n"
	got, err := found(t, Content{"needle", false, true}, strings.NewReader(text))
	if err != nil || fmt.Sprint(got) != "[3:1+6:needle after:false]" {
		t.Fatalf("%.200q %v", got, err)
	}
	wide := strings.Repeat("é", 5000) + "needle" + strings.Repeat("ü", 5000)
	m, _ := (&Content{"needle", false, true}).Compile()
	err = m.scan(strings.NewReader(wide), func(l Line) error {
		if !l.Truncated || len(l.Text) > maxTextBytes || !utf8.Valid(l.Text) || !bytes.Contains(l.Text, []byte("needle")) || l.Column != 5001 {
			t.Errorf("%d %q", l.Column, l.Text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found(t, Content{"x", false, true}, strings.NewReader("x\n\x00")); err != errBinary {
		t.Fatal(err)
	}
}

// A scan of a file finds the same matches as a scan of each line alone, for every size of reads.
func FuzzScan(f *testing.F) {
	f.Add("a+b", "aab\nb\r\n", true, true)
	f.Add("x", "xX\nx", false, false)
	f.Fuzz(func(t *testing.T, pattern, text string, regex, sensitive bool) {
		c := Content{pattern, regex, sensitive}
		m, err := c.Compile()
		if err != nil || !utf8.ValidString(pattern) || strings.Contains(pattern, "\n") || strings.Contains(text, "\x00") {
			return
		}
		expression, _ := c.Expression()
		plain := regexp.MustCompile(expression)
		var want, got []int
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if text != "" && plain.MatchString(strings.TrimSuffix(line, "\r")) {
				want = append(want, i+1)
			}
		}
		if err := m.scan(iotest.HalfReader(strings.NewReader(text)), func(l Line) error {
			got = append(got, l.Number)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q in %q: %v, want %v", pattern, text, got, want)
		}
		if expression, ok := func() (string, bool) {
			if m.tree == nil {
				return "", false
			}
			return rustExpression(m.tree)
		}(); ok && strings.Contains(expression, "\n") {
			t.Fatalf("%q", expression)
		}
	})
}

func TestExpressionsForRipgrepAreExpanded(t *testing.T) {
	for pattern, want := range map[string]string{
		`k`:     `[\x{6B}-\x{6B}]`,
		`(?i)k`: `[\x{4B}-\x{4B}\x{6B}-\x{6B}\x{212A}-\x{212A}]`,
		`\d+$`:  `(?:[\x{30}-\x{39}])+(?:\r?$)`,
		`.`:     `(?:[\x{0}-\x{9}\x{B}-\x{D7FF}\x{E000}-\x{10FFFF}]|(?-u:[\x80-\xFF]))`,
		`a|b\b`: `(?:[\x{61}-\x{61}]|[\x{62}-\x{62}](?-u:\b))`,
	} {
		m, err := (&Content{pattern, true, true}).Compile()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := rustExpression(m.tree); !ok || got != want {
			t.Errorf("%s: %s", pattern, got)
		}
	}
	for _, pattern := range []string{`a$|\bb`, `$^`, `\n`, `[^\x00-\x{10FFFF}]`} {
		m, err := (&Content{pattern, true, true}).Compile()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := rustExpression(m.tree); ok {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}
