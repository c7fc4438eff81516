package sudo

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/process"
)

// options is what sudo(8) is asked for, as far as it is understood where the image has none.
type options struct {
	user    string
	keepEnv bool
	login   bool // -i
	shell   bool // -s
	assign  []string
	command []string
}

var errUsage = errors.New("usage: sudo [-EHn] [-u user] [-i | -s] [VAR=value] [--] [command]")

func parseOptions(args []string) (*options, error) {
	o := &options{user: "0"}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		word := args[0]
		args = args[1:]
		if word == "--" {
			break
		}
		value, isUser := strings.CutPrefix(word, "--user=")
		if word == "--user" {
			word = "-u"
		}
		if isUser {
			o.user = value
			continue
		}
		for i := 1; i < len(word); i++ {
			switch word[i] {
			case 'n', 'H': // there is no password to ask for, and HOME is the user's anyway
			case 'E':
				o.keepEnv = true
			case 'i':
				o.login = true
			case 's':
				o.shell = true
			case 'u':
				o.user = word[i+1:]
				if o.user == "" && len(args) > 0 {
					o.user, args = args[0], args[1:]
				}
				i = len(word)
			default:
				return nil, fmt.Errorf("%s: not supported without the package sudo; %w", word, errUsage)
			}
		}
	}
	for len(args) > 0 && isAssignment(args[0]) {
		o.assign, args = append(o.assign, args[0]), args[1:]
	}
	o.command = args
	if o.user == "" || o.login && o.shell || len(o.command) == 0 && !o.login && !o.shell {
		return nil, errUsage
	}
	return o, nil
}

func isAssignment(word string) bool {
	name, _, found := strings.Cut(word, "=")
	return found && name != "" && !strings.ContainsAny(name, "/ ")
}

// argv is what the process is called with. A shell gets a command as one string in which only what is harmless is bare.
func (o *options) argv(shell string) []string {
	if !o.login && !o.shell {
		return o.command
	}
	name := shell
	if o.login {
		name = "-" + path.Base(shell)
	}
	if len(o.command) == 0 {
		return []string{name}
	}
	words := make([]string, 0, len(o.command))
	for _, word := range o.command {
		words = append(words, escape(word))
	}
	return []string{name, "-c", strings.Join(words, " ")}
}

// escape puts a backslash before every byte that is not a letter, a digit, or one of _-$, as sudo(8) documents for -i and -s.
func escape(word string) string {
	if word == "" {
		return "''"
	}
	var b strings.Builder
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '$', c >= 0x80:
			b.WriteByte(c)
		case c == '\n':
			b.WriteString("'\n'")
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// kept is what passes without -E.
var kept = map[string]bool{"TERM": true, "COLORTERM": true, "DISPLAY": true, "LANG": true, "LC_ALL": true, "PATH": true, "VIRTUAL_ENV": true}

func (o *options) environment(callers []string, user *accounts.User, caller string) map[string]string {
	env := map[string]string{"PATH": process.DefaultPath}
	for _, line := range withoutLoader(callers) {
		if name, value, found := strings.Cut(line, "="); found && (o.keepEnv || kept[name]) && !(o.login && name == "PATH") {
			env[name] = value
		}
	}
	env["HOME"], env["USER"], env["LOGNAME"], env["SHELL"], env["SUDO_USER"] = user.Home, user.Name, user.Name, user.Shell, caller
	for _, line := range o.assign {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	return env
}
