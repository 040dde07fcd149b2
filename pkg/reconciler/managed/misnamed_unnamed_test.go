package managed

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestUnnamed verifies that an altered name is reverted with the result of its attempt, which is then unresolved
// for another process. An adopted resource has no attempt.
func TestUnnamed(t *testing.T) {
	const name, attempt, pending, succeeded = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded
	for id, tc := range map[string]struct{ has, want map[string]string }{
		"created": {map[string]string{
			name: "vol-1", attempt: ownDone, pending: early, succeeded: early,
		}, map[string]string{attempt: ownID, pending: early}},
		"adopted": {map[string]string{name: "vol-1", attempt: ownDone, succeeded: early},
			map[string]string{attempt: ownDone, succeeded: early}},
		"begun": {map[string]string{name: "vol-1", attempt: ownID, pending: early},
			map[string]string{attempt: ownID, pending: early}},
		"named": {map[string]string{name: "vol-1", "theirs": "x"}, map[string]string{"theirs": "x"}},
	} {
		before := len(tc.has)
		if diff := cmp.Diff(tc.want, unnamed(tc.has)); diff != "" || len(tc.has) != before {
			t.Errorf("%s: -want, +got:\n%s", id, diff)
		}
	}
}
