package find

import (
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		globs string // separated by spaces
		path  string
		want  bool
	}{
		{"", "a/b", true},
		{"*.ts", "x.ts", true}, {"*.ts", "a/b/x.ts", true}, {"*.ts", "x.tsx", false},
		{"src/*.ts", "src/x.ts", true}, {"src/*.ts", "src/a/x.ts", false}, {"src/*.ts", "b/src/x.ts", false},
		{"**/src/*.ts", "b/src/x.ts", true}, {"**/src/*.ts", "src/x.ts", true}, {"src/**", "src/a/b", true}, {"src/**", "src", false},
		{"src/**/x", "src/x", true}, {"src/**/x", "src/a/b/x", true}, {"/x", "x", true}, {"/x", "a/x", false},
		{"*.{ts,js}", "a.js", true}, {"*.{ts,js}", "a.py", false}, {"{a,b}/*", "b/c", true},
		{"?.c", "é.c", true}, {"?.c", "ab.c", false}, {"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false}, {"[!a-c]x", "dx", true},
		{"[]]x", "]x", true}, {`a\*`, "a*", true}, {`a\*`, "ab", false}, {"[!a]b", "/b", false},
		{"!*.md", "x.md", false}, {"!*.md", "x.ts", true}, {"*.ts !x.ts", "x.ts", false}, {"*.ts !x.ts", "y.ts", true},
		{"!x.ts *.ts", "x.ts", true}, {"d/", "d", false}, {"*", "anything", true}, {"a**b", "axxb", true}, {"a**b", "a/b", false},
		{"caf\xe9", "caf\xe9", true}, {"caf?", "caf\xe9", true},
	} {
		var globs []string
		if c.globs != "" {
			globs = strings.Split(c.globs, " ")
		}
		g, err := ParseGlobs(globs)
		if err != nil {
			t.Fatalf("%s: %v", c.globs, err)
		}
		if got := g.Wants(c.path, false); got != c.want {
			t.Errorf("%q of %q: %v", c.globs, c.path, got)
		}
	}
	for _, glob := range []string{"", "!", "[a", "{a", "a}{", "a\x00", strings.Repeat("x", 5000)} {
		if _, err := ParseGlobs([]string{glob}); err == nil {
			t.Errorf("%q is taken", glob)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*.ts", "[a-z]", "{a,{b,c}}", "**/x/**", `\`, "[!]]", "[", "a\xff"} {
		f.Add(s, "a/b.ts")
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		g, err := ParseGlobs([]string{glob})
		if err != nil || len(path) > 4096 {
			return
		}
		if wants := g.Wants(path, false); !wants && glob == "**" && path != "" && !strings.Contains(path, "/") {
			t.Fatalf("%q", path)
		}
		g.Prunes(path)
	})
}

func TestGitignore(t *testing.T) {
	list := &ignoreList{prefix: "sub/", rules: parseIgnore("# comment\n\n*.log\n!keep.log\n/top\nbuild/\na/b\n\\#x\n\\!y\nspace\\ \ntrail   \r\n**/deep/x\n[\n")}
	for path, want := range map[string]bool{
		"sub/x.log": true, "sub/d/x.log": true, "sub/keep.log": false, "sub/top": true, "sub/d/top": false, "sub/build": false,
		"sub/a/b": true, "sub/d/a/b": false, "sub/#x": true, "sub/!y": true, "sub/space ": true, "sub/trail": true,
		"sub/q/deep/x": true, "sub/deep/x": true, "sub/other": false,
	} {
		if got := isIgnored([]*ignoreList{list}, path, false); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !isIgnored([]*ignoreList{list}, "sub/x/build", true) {
		t.Error("a directory")
	}
	above := &ignoreList{above: "sub/", rules: parseIgnore("/sub/x\n*.o\n")}
	if !isIgnored([]*ignoreList{above}, "x", false) || isIgnored([]*ignoreList{above}, "y", false) || !isIgnored([]*ignoreList{above}, "d/y.o", false) {
		t.Error("a list above")
	}
}

func FuzzGitignore(f *testing.F) {
	f.Add("*.log\n!/a\n[", "a/b.log")
	f.Fuzz(func(_ *testing.T, text, path string) {
		isIgnored([]*ignoreList{{rules: parseIgnore(text)}}, path, len(path)%2 == 0)
	})
}
