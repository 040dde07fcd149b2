// Package explain says why a decision about a managed resource was made. For each decision of package lifecycle it has
// a function of the same name, which takes the same facts and returns the same result with a reason. Begin with Admit,
// Decide and Conclude.
//
// These functions are generated from the decisions. The decisions themselves have no texts, and cost nothing more
// because they can be explained. After a change of a decision, run go test ./internal/docs -update.
package explain

import (
	"fmt"
	"slices"
	"strings"
)

// An Explanation is the result of a decision, and the reason for it.
type Explanation[R any] struct {
	Result R
	Reason Reason
}

// A Reason says which case of a decision applied. The words are those of the tables in docs/lifecycle.md.
type Reason struct {
	Result   string // the name of the result, such as Tolerate
	Decision string // the function with the case
	Case     int    // the number of the case, from 1
	Says     string // the sentence of the case, which ends with a full stop

	// Facts are the parts of the conditions that hold, from the first decision to this one. The case that applies where
	// no other does has no condition.
	Facts []string
}

// String returns the sentence of the case with its place and its facts, in one line that ends with a full stop. The
// name of the result is not part of it.
func (r Reason) String() string {
	place := fmt.Sprintf("case %d of %s", r.Case, r.Decision)
	if len(r.Facts) > 0 {
		place += ": " + strings.Join(r.Facts, ", ")
	}

	return strings.TrimSuffix(r.Says, ".") + " (" + place + ")."
}

// A part is a part of a condition, and its words.
type part struct {
	holds bool
	fact  string
}

// because returns the explanation of a result, with the parts of the condition that hold.
func because[R any](result R, why Reason, parts ...part) Explanation[R] {
	why.Facts = holding(parts)

	return Explanation[R]{Result: result, Reason: why}
}

// under returns the explanation of a decision that another decision has called, with the parts that hold of the
// condition of that call. A fact of both is there once.
func (e Explanation[R]) under(parts ...part) Explanation[R] {
	facts := holding(parts)
	for _, fact := range e.Reason.Facts {
		if !slices.Contains(facts, fact) {
			facts = append(facts, fact)
		}
	}
	e.Reason.Facts = facts

	return e
}

// holding returns the words of the parts that hold.
func holding(parts []part) []string {
	var facts []string
	for _, p := range parts {
		if p.holds {
			facts = append(facts, p.fact)
		}
	}

	return facts
}
