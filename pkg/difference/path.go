package difference

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A step leads from a value to a value within it: by name, by index, or to each one. It is a key of maps.
type step struct {
	name  string
	index int
	kind  stepKind
}

// A stepKind says which field of a step is used.
type stepKind int

const (
	byName stepKind = iota
	byIndex
	toEach
)

// simple matches a name that needs no brackets.
var simple = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// write appends the step to a path.
func (s step) write(b *strings.Builder) {
	switch {
	case s.kind == byIndex:
		b.WriteString("[" + strconv.Itoa(s.index) + "]")
	case s.kind == toEach:
		b.WriteString("[*]")
	case !simple.MatchString(s.name):
		b.WriteString("[" + encode(s.name) + "]")
	default:
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
	}
}

// parsePath returns the steps of the path of an option.
func parsePath(path string) ([]step, error) {
	var out []step
	for rest := path; rest != "" || len(out) == 0; {
		one, after, err := nextStep(rest, len(out) == 0)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot parse the path %s", encode(path))
		}
		out, rest = append(out, one), after
	}
	return out, nil
}

// nextStep returns the first step of a path, and the rest. Only the first name of a path has no dot before it.
func nextStep(path string, first bool) (one step, rest string, err error) {
	if inside, ok := strings.CutPrefix(path, "["); ok {
		return bracketed(inside)
	}
	if !first {
		if path[0] != '.' {
			return step{}, "", errors.New("write a dot or a bracket after a bracket")
		}
		path = path[1:]
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	if end == 0 {
		return step{}, "", errors.New("a name is missing: write a path such as maxAge or sources[*].name")
	}
	return step{name: path[:end]}, path[end:], nil
}

// bracketed returns the step of a path that begins after a bracket.
func bracketed(path string) (one step, rest string, err error) {
	if strings.HasPrefix(path, `"`) {
		return quoted(path)
	}
	inside, rest, ok := strings.Cut(path, "]")
	switch index, err := strconv.Atoi(inside); {
	case !ok:
		return step{}, "", errors.New("a closing bracket is missing")
	case inside == "":
		return step{}, "", errors.New("the brackets are empty: write an index, a key, or an asterisk for each element")
	case inside == "*":
		return step{kind: toEach}, rest, nil
	case err == nil && index >= 0:
		return step{kind: byIndex, index: index}, rest, nil
	}
	return step{name: inside}, rest, nil
}

// quoted returns the step of a path that begins with a quoted key.
func quoted(path string) (one step, rest string, err error) {
	for end := 1; end < len(path); end++ {
		switch path[end] {
		case '\\':
			end++
		case '"':
			if err := json.Unmarshal([]byte(path[:end+1]), &one.name); err != nil {
				return step{}, "", errors.New("a quoted key is not a JSON string")
			}
			rest, ok := strings.CutPrefix(path[end+1:], "]")
			if !ok {
				return step{}, "", errors.New("a closing bracket is missing after a quoted key")
			}
			return one, rest, nil
		}
	}
	return step{}, "", errors.New("a quoted key does not end")
}
