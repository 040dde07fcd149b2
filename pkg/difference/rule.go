package difference

import (
	"strings"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A rule has what options say about the fields of one path. It is a node of a tree: next has the rules below it.
type rule struct {
	next map[step]*rule

	ignore, sensitive, immutable bool

	set  bool
	keys []string

	missing any // the value of a field that observed does not have
	same    func(desired, observed string) bool
}

// rules are those of one comparison. The zero value has none.
type rules struct{ root rule }

// rule returns the rule of a path. If there is none, it is added.
func (all *rules) rule(path []step) *rule {
	at := &all.root
	for _, s := range path {
		below := at.next[s]
		if below == nil {
			below = &rule{}
			if at.next == nil {
				at.next = map[step]*rule{}
			}
			at.next[s] = below
		}
		at = below
	}
	return at
}

// check returns an error if options contradict each other.
func (r *rule) check() error {
	if r.set && len(r.keys) > 0 {
		return errors.New("a list cannot be both a Set and Keyed")
	}
	return nil
}

// A place is a position in the compared values, with the rules that are about it.
type place struct {
	parent *place
	step   step
	rules  []*rule

	ignore, sensitive, immutable bool // here, or anywhere above
}

// top returns the place of the compared values themselves.
func (all *rules) top() *place { return &place{rules: []*rule{&all.root}} }

// below returns the place that a step leads to.
func (p *place) below(s step) *place {
	out := &place{parent: p, step: s, ignore: p.ignore, immutable: p.immutable}
	out.sensitive = p.sensitive || s.kind == byName && redact.IsSecretKey(s.name)
	for _, r := range p.rules {
		out.add(r.next[s])
		if s.kind != toEach {
			out.add(r.next[step{kind: toEach}])
		}
	}
	return out
}

// add adds a rule, if there is one.
func (p *place) add(r *rule) {
	if r == nil {
		return
	}
	p.rules = append(p.rules, r)
	p.ignore = p.ignore || r.ignore
	p.sensitive = p.sensitive || r.sensitive
	p.immutable = p.immutable || r.immutable
}

// path returns the path of the place.
func (p *place) path() string {
	var steps []step
	for ; p.parent != nil; p = p.parent {
		steps = append(steps, p.step)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].write(&b)
	}
	return b.String()
}

// isSet reports whether the list at the place is a set.
func (p *place) isSet() bool {
	for _, r := range p.rules {
		if r.set {
			return true
		}
	}
	return false
}

// keys returns the fields that identify an element of the list at the place. There are none if it is not Keyed.
func (p *place) keys() []string {
	for _, r := range p.rules {
		if len(r.keys) > 0 {
			return r.keys
		}
	}
	return nil
}

// missing returns the value of a field that observed does not have, or nil.
func (p *place) missing() any {
	for _, r := range p.rules {
		if r.missing != nil {
			return r.missing
		}
	}
	return nil
}

// same returns the function that compares the values at the place, or nil.
func (p *place) same() func(desired, observed string) bool {
	for _, r := range p.rules {
		if r.same != nil {
			return r.same
		}
	}
	return nil
}
