package reference

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

func TestTexts(t *testing.T) {
	from := Referent{boatGK, "a", "boat"}
	b := Referent{berthGK, "a", "b"}
	elsewhere := Referent{berthGK, "b", "b"}

	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"NotFound": {"What is waited for, and why.",
			&WaitingError{Referent: b, Reason: ReasonNotFound, from: from},
			`waiting for Berth "a/b": it does not exist`},
		"Deleting": {"The same.", &WaitingError{Referent: b, Reason: ReasonDeleting, from: from},
			`waiting for Berth "a/b": it is being deleted`},
		"NoValue": {"The field is not named: the program asks for it, not the user.",
			&WaitingError{Referent: b, Reason: ReasonNoValue, from: from},
			`waiting for Berth "a/b": its external name, or the field that is referred to, is still empty`},
		"NoMatch": {"A selector has no name to show.", &WaitingError{
			Referent: Referent{berthGK, "a", ""}, Reason: ReasonNoMatch, from: from,
		}, `waiting for a Berth in namespace "a": none matches the selector`},
		"NoMatchCluster": {"Nor a namespace, if it is about cluster-scoped objects.", &WaitingError{
			Referent: Referent{portGK, "", ""}, Reason: ReasonNoMatch, from: from,
		}, `waiting for a Harbour: none matches the selector`},
		"NoMatchElsewhere": {"Elsewhere it may be the grant that is missing.", &WaitingError{
			Referent: Referent{berthGK, "b", ""}, Reason: ReasonNoMatch, from: from,
		}, `waiting for a Berth in namespace "b": none matches the selector and has the annotation ` +
			`moorage.dev/allow-references-from: "a"`},
		"NotGranted": {"What to do is said; whether the referent exists is not.",
			&RefusedError{Referent: elsewhere, Reason: ReasonNotGranted, from: from},
			`cannot refer to Berth "b/b" from namespace "a": it does not exist, or it does not have the annotation ` +
				`moorage.dev/allow-references-from: "a"`},
		"NotGrantedCluster": {"Only a star grants something to what is in no namespace.", &RefusedError{
			Referent: elsewhere, Reason: ReasonNotGranted, from: Referent{portGK, "", "h"},
		}, `cannot refer to Berth "b/b" from a cluster-scoped object: it does not exist, or it does not have the ` +
			`annotation moorage.dev/allow-references-from: "*"`},
		"Self": {"There is nothing more to say.",
			&RefusedError{Referent: b, Reason: ReasonSelf, from: b}, `Berth "a/b" refers to itself`},
		"Cycle": {"Every member is named.", &RefusedError{
			Referent: b, Reason: ReasonCycle, Cycle: []Referent{from, b},
		}, `circular reference: Boat "a/boat" waits for Berth "a/b" waits for Boat "a/boat"; give one of them the value ` +
			`instead of the reference`},
		"LongCycle": {"Unless there are many.", &RefusedError{
			Referent: b, Reason: ReasonCycle, Cycle: []Referent{from, b, b, b, b, b},
		}, `circular reference: Boat "a/boat" waits for Berth "a/b" waits for Berth "a/b" waits for Berth "a/b" waits ` +
			`for 2 others, and the last of them for Boat "a/boat"; give one of them the value instead of the reference`},
		"Malformed": {"What is wrong is said.", &RefusedError{
			Referent: Referent{berthGK, "a", ".."}, Reason: ReasonMalformed,
			detail: "a name may not be '..'",
		}, `malformed reference to Berth "a/..": a name may not be '..'`},
		"Policy": {"What it may be is said.", malformedPolicy(),
			`malformed reference to Berth "a/b": policy.resolve has the unknown value "always"; allowed are Always and ` +
				`IfNotPresent`},
		"Control characters": {"What a user wrote is quoted.", &WaitingError{
			Referent: Referent{berthGK, "a", "x\n\x1b[31m"}, Reason: ReasonNotFound, from: from,
		}, `waiting for Berth "a/x\n\x1b[31m": it does not exist`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.err.Error()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func malformedPolicy() error {
	_, err := NewAPIResolver(newWorld(), boat("a", "boat")).Resolve(context.Background(), ResolutionRequest{
		Reference: ref("b", &commonv1.ReferencePolicy{Resolve: new(commonv1.ResolvePolicy("always"))}), To: toBerth,
	})

	return err
}

// TestTextsAreBounded: a name can be as long as an object may be, and no text.
func TestTextsAreBounded(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 1<<20), strings.Repeat("é", 1<<19),
		strings.Repeat("\xff", 1<<20), strings.Repeat("\x00", 1<<20)} {
		long := Referent{berthGK, name, name}
		for _, err := range []error{
			&WaitingError{Referent: long, Reason: ReasonNotFound, from: long},
			&RefusedError{Referent: long, Reason: ReasonNotGranted, from: Referent{berthGK, name[1:], name}},
			&RefusedError{Referent: long, Reason: ReasonCycle, Cycle: []Referent{long, long, long, long, long, long}},
			&RefusedError{Referent: long, Reason: ReasonMalformed, detail: name},
		} {
			if text := err.Error(); len(text) > maxErrorLength || !utf8.ValidString(text) {
				t.Errorf("%s of %q...: %d bytes, valid UTF-8: %t", ReasonOf(err), name[:4], len(text),
					utf8.ValidString(text))
			}
		}
	}
}

// TestElsewhereTellsNothing compares what a user is told of objects in another namespace that he may not see:
// whatever is there, it is the same.
func TestElsewhereTellsNothing(t *testing.T) {
	const canary = "canary-7h3f"
	worlds := map[string][]client.Object{
		"Nothing":  nil,
		"Complete": {berth("b", "b", external(canary), labelled("side", canary), granted("z-"+canary))},
		"NotReady": {berth("b", "b")},
		"Deleting": {berth("b", "b", external(canary), deleting)},
	}
	reqs := map[string]ResolutionRequest{
		"Reference": {Reference: refIn("b", "b", nil), To: toBerth},
		"Selector":  {Selector: &commonv1.NamespacedSelector{Namespace: "b"}, To: toBerth},
	}
	for what, req := range reqs {
		told := map[string]bool{}
		for name, objects := range worlds {
			_, err := NewAPIResolver(newWorld(objects...), boat("a", "boat")).Resolve(context.Background(), req)
			if err == nil {
				t.Fatalf("%s, %s: want an error", what, name)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("%s, %s: the text tells what the referent holds: %s", what, name, err)
			}
			told[string(ReasonOf(err))+": "+err.Error()] = true
		}
		if len(told) != 1 {
			t.Errorf("%s: a user can tell what is there from what he is told: %v", what, told)
		}
	}
}

func TestReasonOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   Reason
	}{
		"Nil":     {"No error has no reason.", nil, ""},
		"Other":   {"An error of somebody else has none.", errors.New("boom"), ""},
		"Waiting": {"Wrapped errors count.", errors.Wrap(&WaitingError{Reason: ReasonNoMatch}, "x"), ReasonNoMatch},
		"Refused": {"Wrapped errors count.", errors.Wrap(&RefusedError{Reason: ReasonSelf}, "x"), ReasonSelf},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ReasonOf(tc.err); got != tc.want {
				t.Errorf("%s\nReasonOf(%v): want %q, got %q", tc.reason, tc.err, tc.want, got)
			}
		})
	}
}
