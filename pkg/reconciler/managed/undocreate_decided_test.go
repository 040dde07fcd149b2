package managed

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A removal returns the given answers, and records its deadline.
type removal struct {
	ExternalClient

	answers []error
	asked   int
	within  time.Duration
}

func (r *removal) Delete(ctx context.Context, _ resource.Managed) error {
	until, _ := ctx.Deadline()
	r.within = time.Until(until)
	r.asked++

	return r.answers[min(r.asked, len(r.answers))-1]
}

// TestWhatIsTakenBack verifies that the resource of an object that is gone is deleted if it is ours and may be,
// with retries for 25 seconds.
func TestWhatIsTakenBack(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		arrange  func(*pass)
		why      error
		answers  []error
		asked    int // negative: again and again
		released bool
	}{
		"gone":               {answers: []error{nil}, asked: 1, released: true},
		"it is going":        {answers: []error{external.InProgress("op-1", time.Second)}, asked: 1, released: true},
		"it was gone":        {answers: []error{external.NotFound(boom)}, asked: 1, released: true},
		"later":              {answers: []error{boom, boom, nil}, asked: 3, released: true},
		"never":              {answers: []error{boom}, asked: -1},
		"another reason":     {why: boom},
		"no reason":          {why: errors.New("")},
		"nothing was made":   {arrange: func(p *pass) { p.created = false }},
		"it was kept before": {arrange: func(p *pass) { p.read.SetFinalizers([]string{"other"}) }},
		"it is to stay": {arrange: func(p *pass) {
			meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan})
		}},
		"somebody has it by now": {arrange: func(p *pass) {
			p.observed, p.observation = true, ExternalObservation{ResourceExists: true, Owner: OwnerOther}
		}},
		"somebody had it before": {
			arrange: func(p *pass) { p.observation = ExternalObservation{ResourceExists: true, Owner: OwnerOther} },
			answers: []error{nil}, asked: 1, released: true,
		},
		"somebody had another": {arrange: func(p *pass) {
			p.observed, p.observation = true, ExternalObservation{Owner: OwnerOther}
		}, answers: []error{nil}, asked: 1, released: true},
		"it was found": {arrange: func(p *pass) {
			p.observed, p.observation = true, ExternalObservation{ResourceExists: true, Owner: OwnerOurs}
		}, answers: []error{nil}, asked: 1, released: true},
		"it is spared": {arrange: func(p *pass) { p.retained = true }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, r := endingPass(), &removal{answers: tc.answers}
				p.created, p.external = true, r
				if tc.arrange != nil {
					tc.arrange(p)
				}
				why := tc.why
				if why == nil {
					why = errors.Wrap(errReplaced, "cannot store")
				}
				over, cancel := context.WithCancel(t.Context())
				cancel()
				began := time.Now()
				if lifecycle.Conclude(p.concludeFacts(over, end{err: why})) == lifecycle.UndoCreate {
					p.undoCreate(over)
				}
				if p.released != tc.released || r.asked != tc.asked && (tc.asked >= 0 || r.asked < 5) {
					t.Errorf("asked %d times, want %d; released %t", r.asked, tc.asked, p.released)
				}
				if took := time.Since(began); (tc.asked < 0) != (took == 25*time.Second) ||
					r.asked == 1 && r.within != 5*time.Second {
					t.Errorf("it took %s, and the first call has %s", took, r.within)
				}
			})
		})
	}
}
