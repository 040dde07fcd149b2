package managed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// newBulk returns a crowd whose polls share lists of four pages, and lets it settle.
func newBulk(t *testing.T, o ...managed.ReconcilerOption) *crowd {
	t.Helper()
	f := newCrowd(t, append([]managed.ReconcilerOption{managed.WithBulkObservation(0),
		managed.WithRandom(rand.Float64)}, o...)...)
	f.cloud.PageSize = crowdSize / 4
	f.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Connect" {
			return nil
		}
		<-time.After(crowdLatency)
		f.calls.Lock()
		defer f.calls.Unlock()
		if call != "List" && call != "Observe" {
			f.updates[call+" "+mg.GetName()] = time.Now()
		}

		return nil
	}
	f.operate()
	<-time.After(3 * crowdPoll)

	return f
}

// during returns how often calls were made from now on.
func (f *crowd) during(d time.Duration) map[string]int {
	f.cloud.Forget()
	<-time.After(d)
	n := map[string]int{}
	for _, call := range f.cloud.Calls() {
		n[call]++
	}

	return n
}

// TestPollsShareAList verifies that polls of a connection share one list per poll interval, and external changes
// are found as soon as by observations.
func TestPollsShareAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulk(t)
		const rounds = 30
		n := f.during(rounds * crowdPoll)
		t.Logf("in %d rounds: %v", rounds, n)
		if n["List"] < 4*(rounds-1) || n["List"] > 4*(rounds+1) || n["Observe"] > 0 {
			t.Errorf("%d pages and %d observations in %d rounds, want four pages in each", n["List"], n["Observe"],
				rounds)
		}
		if passes := n["Connect"]; passes < crowdSize*(rounds-1) || passes > crowdSize*rounds*5/4 {
			t.Errorf("%d passes over %d objects in %d rounds", passes, crowdSize, rounds)
		}
		f.expectRepair(2 * crowdPoll)
	})
}

// expectRepair changes a disk in the external system and removes another, and expects both to be corrected in time,
// by one call each, and no other change.
func (f *crowd) expectRepair(within time.Duration) {
	f.Helper()
	f.cloud.Put(volume.Disk{ID: "v03", SizeGiB: 99})
	f.cloud.Remove("v07")
	n := f.during(within)
	if n["Update"] != 1 || n["Create"] != 1 || n["Delete"] != 0 {
		f.Errorf("calls %v, want one update and one creation", n)
	}
	for _, d := range f.cloud.Disks() {
		if d.SizeGiB != 1 {
			f.Errorf("%+v was not put right", d)
		}
	}
	if disks := len(f.cloud.Disks()); disks < crowdSize {
		f.Errorf("%d disks, want %d", disks, crowdSize)
	}
}

// TestBadListers verifies that a misbehaving lister costs calls and nothing else.
func TestBadListers(t *testing.T) {
	page := 0
	cases := map[string]struct {
		reason string
		page   func(token string, page *managed.ExternalListPage) error
	}{
		"omits": {
			reason: "who is not shown is looked at",
			page: func(_ string, p *managed.ExternalListPage) error {
				p.Items = p.Items[:len(p.Items)/2]

				return nil
			},
		},
		"shows nothing": {
			reason: "nobody is taken to be gone",
			page: func(_ string, p *managed.ExternalListPage) error {
				*p = managed.ExternalListPage{}

				return nil
			},
		},
		"repeats": {
			reason: "what is shown twice says nothing",
			page: func(_ string, p *managed.ExternalListPage) error {
				p.Items = append(p.Items, p.Items...)

				return nil
			},
		},
		"fails half way": {
			reason: "a list that breaks off is none",
			page: func(token string, _ *managed.ExternalListPage) error {
				if token > "v40" {
					return errors.New("410 the list has expired")
				}

				return nil
			},
		},
		"is forbidden": {
			reason: "who may not list may observe",
			page:   func(string, *managed.ExternalListPage) error { return external.Unauthorized(errors.New("403")) },
		},
		"shows what is foreign": {
			reason: "what nobody has is nobody's business",
			page: func(_ string, p *managed.ExternalListPage) error {
				for i := range 1000 {
					p.Items = append(p.Items, managed.ListedResource{ExternalName: fmt.Sprintf("foreign-%d", i)})
				}

				return nil
			},
		},
		"shows what cannot be read": {
			reason: "what is not understood is looked at",
			page: func(_ string, p *managed.ExternalListPage) error {
				for i := range p.Items {
					p.Items[i].Resource = nil
				}

				return nil
			},
		},
		"shows another's": {
			reason: "what does not fit is looked at before it is changed",
			page: func(_ string, p *managed.ExternalListPage) error {
				for i := range p.Items {
					p.Items[i].Resource = volume.Disk{ID: "another", SizeGiB: 17}
				}

				return nil
			},
		},
		"does not end": {
			reason: "a page that leads to itself is the end of it",
			page: func(_ string, p *managed.ExternalListPage) error {
				p.Continue = "v00"

				return nil
			},
		},
		"never ends": {
			reason: "pages for ever are not asked for by one worker for ever",
			page: func(_ string, p *managed.ExternalListPage) error {
				page++
				p.Continue = fmt.Sprintf("v00%d", page)

				return nil
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newBulk(t)
				f.cloud.Relist(crowdSize/4, tc.page)
				n := f.during(20 * crowdPoll)
				if changes := n["Create"] + n["Update"] + n["Delete"]; changes > 0 {
					t.Errorf("%s: %d changes, and there was nothing to change", tc.reason, changes)
				}
				if calls := n["Observe"] + n["List"]; calls > 21*(crowdSize+50) {
					t.Errorf("%s: calls %v in 20 rounds of %d objects", tc.reason, n, crowdSize)
				}
				if name != "shows what is foreign" && n["Observe"] < 19*crowdSize/2 {
					t.Errorf("%s: %d observations of %d objects in 20 rounds", tc.reason, n["Observe"], crowdSize)
				}
				f.expectRepair(3 * crowdPoll)
			})
		})
	}
}

// TestAListIsForPollsAlone verifies that a stale list reverts no change of a user or of our own: it is not even
// used.
func TestAListIsForPollsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulk(t)
		old := map[string]any{}
		f.cloud.Relist(crowdSize/4, func(_ string, p *managed.ExternalListPage) error { // for ever what it was
			for i, item := range p.Items {
				if _, ok := old[item.ExternalName]; !ok {
					old[item.ExternalName] = item.Resource
				}
				p.Items[i].Resource = old[item.ExternalName]
			}

			return nil
		})
		<-time.After(crowdPoll)
		f.cloud.Forget()
		f.user(5, func(v *volume.Volume) { v.Spec.SizeGiB = 7 })
		<-time.After(time.Second)
		if got := f.cloud.Count("Update"); got != 1 {
			t.Errorf("%d updates a second after the user's change", got)
		}
		f.user(6, nil)
		n := f.during(20 * crowdPoll)
		if n["Update"] > 0 || n["Create"] > 0 || n["Delete"] != 1 {
			t.Errorf("calls %v after all was done: an old list was believed", n)
		}
		if n["Observe"] < 20 || n["Observe"] > 24 {
			t.Errorf("%d observations, want one a round of what the list shows as it was", n["Observe"])
		}
	})
}

// TestAListIsHeldToLimits verifies that a list observes the rate limit of its connection.
func TestAListIsHeldToLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := limit.NewSet(limit.WithRate(2, 0.1, 2))
		f := newBulk(t, managed.WithLimits(set))
		<-time.After(crowdSize * time.Second) // until all were made
		f.cloud.Relist(10, nil)
		<-time.After(3 * crowdPoll)
		n := f.during(20 * crowdPoll)
		// The jitter of polls allows for two rounds more or less.
		if n["List"] < 18*10 || n["List"] > 22*10 || n["Observe"] > 20*crowdSize/10 {
			t.Errorf("calls %v, want ten pages in each of twenty rounds, at two a second", n)
		}
	})
}

// TestATypedLister verifies that the lists of a typed client are used.
func TestATypedLister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pollsByList(t, func(d typedDisk) managed.TypedExternalClient[*volume.Volume] { return d })
	})
}

// pollsByList checks that polls of typed clients share lists, without individual observations.
func pollsByList(t *testing.T, of func(typedDisk) managed.TypedExternalClient[*volume.Volume]) {
	t.Helper()
	cloud := &volume.Cloud{Named: true}
	f := newCrowd(t, managed.WithBulkObservation(0), managed.WithTypedExternalConnector(
		managed.TypedExternalConnectorFn[*volume.Volume](func(ctx context.Context,
			v *volume.Volume) (managed.TypedExternalClient[*volume.Volume], error) {
			c, err := cloud.Connect(ctx, v)

			return of(typedDisk{c}), err
		})))
	f.cloud = cloud
	f.operate()
	<-time.After(3 * crowdPoll)
	if n := f.during(10 * crowdPoll); n["Observe"] > 0 || n["List"] < 9 {
		t.Errorf("calls %v", n)
	}
}

// A typedDisk is a client that knows volumes only.
type typedDisk struct{ managed.ExternalClient }

func (d typedDisk) Observe(ctx context.Context, v *volume.Volume) (managed.ExternalObservation, error) {
	return d.ExternalClient.Observe(ctx, v)
}

func (d typedDisk) Create(ctx context.Context, v *volume.Volume) error {
	return d.ExternalClient.Create(ctx, v)
}

func (d typedDisk) Update(ctx context.Context, v *volume.Volume) error {
	return d.ExternalClient.Update(ctx, v)
}

func (d typedDisk) Delete(ctx context.Context, v *volume.Volume) error {
	return d.ExternalClient.Delete(ctx, v)
}

func (d typedDisk) ListPage(ctx context.Context, token string) (managed.ExternalListPage, error) {
	return d.ExternalClient.(managed.ExternalLister).ListPage(ctx, token)
}

func (d typedDisk) ObserveListed(ctx context.Context, v *volume.Volume,
	listed any) (managed.ExternalObservation, error) {
	return d.ExternalClient.(managed.ExternalLister).ObserveListed(ctx, v, listed)
}
