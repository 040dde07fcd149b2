package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	fielddiff "github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// namesDifferences is the property of the differences that Observe names.
const namesDifferences = "differences-are-told"

// namedDifferences is what a client has said in ExternalObservation.Differences.
type namedDifferences struct {
	any       bool            // an observation named a difference
	missing   string          // about the first observation of a known difference that named none; or ""
	passwords map[string]bool // connection details with the key of a secret
	findings  findings        // about differences, which are reported last: others are graver
}

// leastSecret is the length of the shortest connection detail that is searched for. Shorter ones occur by chance.
const leastSecret = 6

// Texts that package difference writes into values.
const (
	redactionMark = "[REDACTED]"
	cutMark       = "... (truncated)"
)

// notePasswords notes the connection details that are secret by their key.
func (n *namedDifferences) notePasswords(details managed.ConnectionDetails) {
	if n.passwords == nil {
		n.passwords = map[string]bool{}
	}
	for key, value := range details {
		if len(value) >= leastSecret && redact.IsSecretKey(key) {
			n.passwords[string(value)] = true
		}
	}
}

// isShown reports whether a reconciler shows the differences of an observation.
func isShown(o managed.ExternalObservation) bool {
	return o.ResourceExists && !o.ResourceUpToDate && o.Owner != managed.OwnerOther
}

// judgeDifferences reports what is never right about the differences of an observation. It warns about those that the
// reconciler ignores.
func (t *recorder) judgeDifferences(mg resource.Managed, o managed.ExternalObservation) {
	t.named.notePasswords(o.ConnectionDetails)
	if len(o.Differences) == 0 {
		return
	}
	t.named.any = true
	if o.ResourceExists && o.ResourceUpToDate {
		t.warn(fmt.Sprintf("Observe of %s says that its resource is up to date, and that it differs in %s: the "+
			"reconciler ignores differences while the resource is up to date. Return those that Update corrects, and report "+
			"the resource as up to date if there are none", mg.GetName(), pathsOf(o.Differences)))
	}
	if isShown(o) {
		t.judgeValues(mg, o.Differences)
	}
	shown, _ := fielddiff.Clean(o.Differences, t.concealed.Mask()) // as the reconciler does
	for _, d := range shown {
		if t.isSecret(d.Desired) || t.isSecret(d.Observed) {
			t.violate("secrets-are-kept", fmt.Sprintf("the difference %q of %s shows one: mark the field with "+
				"difference.Sensitive, or set Sensitive of the Difference and leave out both values", d.Path, mg.GetUID()))
		}
	}
}

// judgeValues reports differences without a path, or between equal values. It warns about those without any value.
func (t *recorder) judgeValues(mg resource.Managed, differences []commonv1.Difference) {
	for _, d := range differences {
		switch {
		case d.Path == "":
			t.later(namesDifferences, fmt.Sprintf("Observe of %s returns a difference without a Path", mg.GetUID()))
		case d.Sensitive:
		case d.Desired == "" && d.Observed == "":
			t.warn(fmt.Sprintf("the difference %q of %s has neither Desired nor Observed: users see that the field differs, "+
				"and not how. Package difference sets both", d.Path, mg.GetName()))
		case d.Desired == d.Observed && isWhole(d.Desired):
			t.later(namesDifferences, fmt.Sprintf("Observe of %s says that the desired and the observed value of %q are "+
				"both %s: return the value of the spec as Desired, and that of the external system as Observed",
				mg.GetUID(), d.Path, quoted(d.Desired)))
		}
	}
}

// isWhole reports whether a value is surely what it was before package difference cleaned it. Different values may be
// equal after that: it masks secrets, shortens texts, and replaces spaces and characters that cannot be printed.
func isWhole(value string) bool {
	return len(value) < fielddiff.MaxLength && !strings.HasSuffix(value, cutMark) &&
		!strings.Contains(value, redactionMark) && !strings.ContainsAny(value, " "+string(unicode.ReplacementChar))
}

// isSecret reports whether a text contains a secret of the suite, or a password that was published.
func (t *recorder) isSecret(text string) bool {
	contains := func(secret string) bool { return strings.Contains(text, secret) }

	return slices.ContainsFunc(t.suite.allSecrets(), contains) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(t.named.passwords)), contains)
}

// pathsOf returns the sorted paths of differences, for a message.
func pathsOf(list []commonv1.Difference) string {
	var paths []string
	for _, d := range list {
		paths = append(paths, d.Path)
	}
	slices.Sort(paths)

	return quoted(strings.Join(slices.Compact(paths), ", "))
}

// checkDifferences checks that an observation names a difference that is known to exist. A client that never names any
// is correct, unless its kind is a resource.DriftReporter, which shows them to users.
func (m *directChecks) checkDifferences(mg resource.Managed, o managed.ExternalObservation, when string) *finding {
	_, reports := m.sample.(resource.DriftReporter)
	named := &m.ledger.named
	if isShown(o) && len(o.Differences) == 0 && named.missing == "" {
		named.missing = fmt.Sprintf("after %s, Observe of %s says that its resource is not up to date, and names no "+
			"difference", when, mg.GetName())
	}
	switch {
	case named.missing == "":
		return nil
	case named.any:
		return m.finding(namesDifferences, "%s, although other observations name some: return each field that Update "+
			"corrects in ExternalObservation.Differences", named.missing)
	case reports:
		return m.finding(namesDifferences, "%s, although the status of the kind has a place for them: return them in "+
			"ExternalObservation.Differences, for instance by package difference, or remove commonv1.DriftStatus from the "+
			"status", named.missing)
	default:
		return nil
	}
}

// steadyObservations is how many observations have to name the same differences if two in succession have not. A client
// that names a field at random seldom does so that often.
const steadyObservations = 8

// steadyDifferences checks that a second observation names the same differences. The observed values may change. If a
// stale replica has answered one of the observations, later ones are compared within the patience of the suite. It
// returns the last observation.
func (m *directChecks) steadyDifferences(
	mg resource.Managed, o managed.ExternalObservation,
) (managed.ExternalObservation, *finding) {
	first, again, judged := o, o, true
	repeats := 1
	same := func() bool {
		for range repeats {
			previous := again
			var err error
			again, err = m.observe(context.Background(), clone(mg))
			if judged = err == nil && isShown(again); !judged { // other checks report that
				again = previous

				return false
			}
			if !slices.Equal(withoutObserved(previous.Differences), withoutObserved(again.Differences)) {
				first, repeats = previous, steadyObservations

				return false
			}
		}

		return true
	}
	if m.eventually(same) || !judged {
		return again, nil
	}

	return again, m.finding(namesDifferences, "Observe of %s names the differences %s, and at once after that %s",
		mg.GetName(), pathsOf(first.Differences), pathsOf(again.Differences))
}

// withoutObserved returns sorted differences without their observed values.
func withoutObserved(list []commonv1.Difference) []commonv1.Difference {
	out := slices.Clone(list)
	for i := range out {
		out[i].Observed = ""
	}
	slices.SortFunc(out, func(a, b commonv1.Difference) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Desired, b.Desired))
	})

	return out
}

// laterFinding records a finding that is reported last, so that it does not keep the suite from a graver one.
func (k *runner) laterFinding(property, text string) {
	k.ledger.named.findings.add(finding{property: property, text: k.replaceUIDs(text), replay: k.schedule})
}

// reportLater records a finding about differences, unless it is nil.
func (m *directChecks) reportLater(f *finding) {
	if f != nil && !m.host.stopped() {
		m.laterFinding(f.property, f.text)
	}
}

// mutationDifferences checks the differences that Observe names after a mutation. The resource was up to date before.
func (m *directChecks) mutationDifferences(
	mg resource.Managed, mutation Mutation, o managed.ExternalObservation,
) *finding {
	if failure := m.checkDifferences(mg, o, "the mutation "+mutation.Name); failure != nil || !isShown(o) ||
		len(o.Differences) == 0 {
		return failure
	}
	o, failure := m.steadyDifferences(mg, o)
	if failure != nil {
		return failure
	}
	changed := changedFields(m.sample, mg)
	var matching, other []commonv1.Difference
	for _, d := range o.Differences {
		switch path := stepsOf(d.Path); {
		case slices.ContainsFunc(changed, path.overlaps), slices.ContainsFunc(changed, path.isSetBy):
			matching = append(matching, d)
		case d.Sensitive: // a credential is in no spec
		default:
			other = append(other, d)
		}
	}

	return m.judgeMutationDifferences(mg, mutation, matching, other)
}

// judgeMutationDifferences judges the differences at fields that a mutation has changed, and the others.
func (m *directChecks) judgeMutationDifferences(
	mg resource.Managed, mutation Mutation, matching, other []commonv1.Difference,
) *finding {
	fixed := func(d commonv1.Difference) bool { return d.Immutable }
	inSpec := func(d commonv1.Difference) bool { return hasField(mg, stepsOf(d.Path)) }
	for _, d := range other {
		if !inSpec(d) {
			m.warnOnce(fmt.Sprintf("Observe of %s names the difference %q, which is no field of %s: users know the names of "+
				"the spec", mg.GetName(), d.Path, rootName(mg)))
		}
	}
	switch {
	case len(matching) == 0 && slices.ContainsFunc(other, inSpec):
		return m.finding(namesDifferences, "the mutation %s of %s changes %s, and Observe names the difference %s: return "+
			"the fields that differ", mutation.Name, mg.GetName(), fieldNames(changedFields(m.sample, mg)), pathsOf(other))
	case len(matching) == 0:
		return nil
	case mutation.Immutable && !slices.ContainsFunc(matching, fixed):
		return m.finding(namesDifferences, "Observe of %s does not say that the difference %s is Immutable, and no update "+
			"can make the mutation %s: mark the field with difference.Immutable", mg.GetName(), pathsOf(matching),
			mutation.Name)
	case !mutation.Immutable && !slices.ContainsFunc(matching, func(d commonv1.Difference) bool { return !fixed(d) }):
		return m.finding(namesDifferences, "Observe of %s says that the difference %s is Immutable, and the mutation %s "+
			"is one that an update makes", mg.GetName(), pathsOf(matching), mutation.Name)
	default:
		return nil
	}
}
