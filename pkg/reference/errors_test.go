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
	from := Referent{instanceGK, "a", "instance"}
	b := Referent{diskGK, "a", "b"}
	elsewhere := Referent{diskGK, "b", "b"}

	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"NotFound": {"What is waited for, and why.",
			&WaitingError{Referent: b, Reason: ReasonNotFound, from: from},
			`waiting for Disk "a/b": it does not exist`},
		"Deleting": {"The same.", &WaitingError{Referent: b, Reason: ReasonDeleting, from: from},
			`waiting for Disk "a/b": it is being deleted`},
		"NoValue": {"The field is not named: the program asks for it, not the user.",
			&WaitingError{Referent: b, Reason: ReasonNoValue, from: from},
			`waiting for Disk "a/b": its external name, or the field that is referred to, is still empty`},
		"NotReady": {"Of the referent nothing but its name is shown.", &WaitingError{
			Referent: Referent{diskGK, "a", "b"}, Reason: ReasonNotReady, Expected: true, from: from,
		}, `waiting for Disk "a/b": its condition Ready is not True yet`},
		"NoMatch": {"A selector has no name to show.", &WaitingError{
			Referent: Referent{diskGK, "a", ""}, Reason: ReasonNoMatch, from: from,
		}, `waiting for a Disk in namespace "a": none matches the selector`},
		"NoMatchCluster": {"Nor a namespace, if it is about cluster-scoped objects.", &WaitingError{
			Referent: Referent{portGK, "", ""}, Reason: ReasonNoMatch, from: from,
		}, `waiting for a Network: none matches the selector`},
		"NoMatchElsewhere": {"Elsewhere it may be the grant that is missing.", &WaitingError{
			Referent: Referent{diskGK, "b", ""}, Reason: ReasonNoMatch, from: from,
		}, `waiting for a Disk in namespace "b": none matches the selector and has the annotation ` +
			`moorage.dev/allow-references-from: "a"`},
		"NotGranted": {"What to do is said; whether the referent exists is not.",
			&RefusedError{Referent: elsewhere, Reason: ReasonNotGranted, from: from},
			`cannot refer to Disk "b/b" from namespace "a": it does not exist, or it does not have the annotation ` +
				`moorage.dev/allow-references-from: "a"`},
		"NotGrantedCluster": {"Only a star grants something to what is in no namespace.", &RefusedError{
			Referent: elsewhere, Reason: ReasonNotGranted, from: Referent{portGK, "", "h"},
		}, `cannot refer to Disk "b/b" from a cluster-scoped object: it does not exist, or it does not have the ` +
			`annotation moorage.dev/allow-references-from: "*"`},
		"Self": {"There is nothing more to say.",
			&RefusedError{Referent: b, Reason: ReasonSelf, from: b}, `Disk "a/b" refers to itself`},
		"Cycle": {"Every member is named.", &RefusedError{
			Referent: b, Reason: ReasonCycle, Cycle: []Referent{from, b},
		}, `circular reference: Instance "a/instance" waits for Disk "a/b" waits for Instance "a/instance"; give one of ` +
			`them the value ` +
			`instead of the reference`},
		"LongCycle": {"Unless there are many.", &RefusedError{
			Referent: b, Reason: ReasonCycle, Cycle: []Referent{from, b, b, b, b, b},
		}, `circular reference: Instance "a/instance" waits for Disk "a/b" waits for Disk "a/b" waits for Disk "a/b" waits ` +
			`for 2 others, and the last of them for Instance "a/instance"; give one of them the value instead of the reference`},
		"Malformed": {"What is wrong is said.", &RefusedError{
			Referent: Referent{diskGK, "a", ".."}, Reason: ReasonMalformed,
			detail: "a name may not be '..'",
		}, `malformed reference to Disk "a/..": a name may not be '..'`},
		"Policy": {"What it may be is said.", malformedPolicy(),
			`malformed reference to Disk "a/b": policy.resolve has the unknown value "always"; allowed are Always and ` +
				`IfNotPresent`},
		"Control characters": {"What a user wrote is quoted.", &WaitingError{
			Referent: Referent{diskGK, "a", "x\n\x1b[31m"}, Reason: ReasonNotFound, from: from,
		}, `waiting for Disk "a/x\n\x1b[31m": it does not exist`},
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
	_, err := NewAPIResolver(newWorld(), instance("a", "instance")).Resolve(context.Background(), ResolutionRequest{
		Reference: ref("b", &commonv1.ReferencePolicy{Resolve: new(commonv1.ResolvePolicy("always"))}), To: toDisk,
	})

	return err
}

// TestTextsAreBounded: the text of an error is bounded, even if the names are as long as an object may be.
func TestTextsAreBounded(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 1<<20), strings.Repeat("é", 1<<19),
		strings.Repeat("\xff", 1<<20), strings.Repeat("\x00", 1<<20)} {
		long := Referent{diskGK, name, name}
		for _, err := range []error{
			&WaitingError{Referent: long, Reason: ReasonNotFound, from: long},
			&RefusedError{Referent: long, Reason: ReasonNotGranted, from: Referent{diskGK, name[1:], name}},
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

// TestElsewhereRevealsNothing: errors about another namespace, which the user may not read, do not depend on its
// objects.
func TestElsewhereRevealsNothing(t *testing.T) {
	const canary = "canary-7h3f"
	worlds := map[string][]client.Object{
		"Nothing":  nil,
		"Complete": {disk("b", "b", external(canary), labelled("zone", canary), granted("z-"+canary))},
		"NotReady": {disk("b", "b")},
		"Deleting": {disk("b", "b", external(canary), deleting)},
	}
	reqs := map[string]ResolutionRequest{
		"Reference": {Reference: refIn("b", "b", nil), To: toDisk},
		"Selector":  {Selector: &commonv1.NamespacedSelector{Namespace: "b"}, To: toDisk},
	}
	for what, req := range reqs {
		texts := map[string]bool{}
		for name, objects := range worlds {
			_, err := NewAPIResolver(newWorld(objects...), instance("a", "instance")).Resolve(context.Background(), req)
			if err == nil {
				t.Fatalf("%s, %s: want an error", what, name)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("%s, %s: the text reveals the content of the referent: %s", what, name, err)
			}
			texts[string(ReasonOf(err))+": "+err.Error()] = true
		}
		if len(texts) != 1 {
			t.Errorf("%s: a user can tell what is there from what he is texts: %v", what, texts)
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
