package statuspage

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// begin is when the conditions of all objects have changed.
var begin = time.Date(2026, 11, 2, 8, 30, 0, 0, time.UTC)

// A bucket is a managed resource with differences and a configuration.
type bucket struct {
	*fake.Managed
	commonv1.DriftStatus

	config string
}

func (b *bucket) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return &commonv1.ProviderConfigReference{Kind: "ProviderConfig", Name: b.config}
}

// newBucket returns an object that is well, changed by the conditions.
func newBucket(name string, conditions ...commonv1.Condition) *bucket {
	b := &bucket{Managed: &fake.Managed{}, config: "main"}
	b.Namespace, b.Name, b.UID = "sea", name, types.UID("uid-"+name)
	b.ResourceVersion, b.CreationTimestamp = "1", metav1.NewTime(begin)
	for _, c := range append([]commonv1.Condition{commonv1.Available(), commonv1.ReconcileSuccess()}, conditions...) {
		c.LastTransitionTime = metav1.NewTime(begin)
		b.SetConditions(c)
	}

	return b
}

func synced(reason commonv1.ConditionReason, message string) commonv1.Condition {
	return commonv1.Condition{Type: commonv1.TypeSynced, Status: "False", Reason: reason, Message: message}
}

func upToDate(reason commonv1.ConditionReason, message string) commonv1.Condition {
	return commonv1.Condition{Type: commonv1.TypeUpToDate, Status: "False", Reason: reason, Message: message}
}

// known is an inspection with the same answers for all objects that are not well.
type known struct{}

func (known) LastPass(mg resource.Managed) (managed.LastPass, bool) {
	s, _ := stateOf(mg)
	last := managed.LastPass{At: begin, Action: "Observe", Because: "The state of the external resource is not known."}
	if s == differs {
		last.Action, last.Because = "Tolerate", "The policies do not allow to update."
	}

	return last, s != well
}

func (known) NextReconcile(resource.Managed) (time.Time, bool) { return begin.Add(time.Minute), true }

// A fixture is the process of a provider, as a test changes it.
type fixture struct {
	mu          sync.Mutex
	objects     []resource.Managed
	connections []limit.State
	changes     changeLog
	leadership  leadership
}

// read returns the fleet of the fixture.
func (x *fixture) read(context.Context) *fleet {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := &fleet{at: begin, leadership: x.leadership, connections: append([]limit.State(nil), x.connections...)}
	var total uint64
	f.changes, total = x.changes.read()
	f.add(kind{
		name: "Bucket", group: "store.example.org", inspection: known{}, working: 1,
		queue: []controller.QueueClass{
			{Priority: controller.PriorityUser, Due: 2}, {Priority: controller.PriorityPoll, Later: 7},
		},
	}, x.objects)
	f.complete(total)

	return f
}

// change changes the fixture.
func (x *fixture) change(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
}

// example returns a fleet with an object in each state.
func example() *fixture {
	drifted := newBucket("drifted", upToDate(commonv1.ReasonUpdateRestricted, "the external resource differs in maxAge"))
	drifted.SetDrift(&commonv1.Drift{More: 3, Fields: []commonv1.Difference{
		{Path: "maxAge", Desired: `"24h0m0s"`, Observed: `"72h0m0s"`}, {Path: "key", Sensitive: true},
		{Path: "storage", Desired: `"file"`, Observed: `"memory"`, Immutable: true},
	}})
	deleted := newBucket("deleted", commonv1.Deleting())
	deleted.SetDeletionTimestamp(&metav1.Time{Time: begin})
	fresh := newBucket("fresh")
	fresh.ConditionedStatus = commonv1.ConditionedStatus{}
	x := &fixture{
		objects: []resource.Managed{
			newBucket("well"), drifted, deleted, fresh, newBucket("creating", commonv1.Creating()),
			newBucket("broken", synced(commonv1.ReasonReconcileError, "observe failed: no route to host")),
			newBucket("throttled", synced(commonv1.ReasonThrottled, "the limit of calls is reached")),
			newBucket("resting", commonv1.ReconcilePaused()),
		},
		connections: []limit.State{
			{Name: "ProviderConfig/sea/main", Reason: limit.ReasonThrottled, Message: "slow down", Rate: 12.5, Waiting: 3,
				Resume: begin.Add(time.Minute), Calls: 7, Throttled: 2},
		},
	}

	return x
}

// manyObjects returns a fleet of n objects, of which every third is not well.
func manyObjects(n int) *fixture {
	x := example()
	for i := range n - len(x.objects) {
		name := fmt.Sprintf("bucket-%05d", i)
		switch i % 3 {
		case 0:
			x.objects = append(x.objects, newBucket(name, synced(commonv1.ReasonReconcileError,
				strings.Repeat("no route to host ", 30))))
		default:
			x.objects = append(x.objects, newBucket(name))
		}
	}

	return x
}

// A recordedLog remembers the links that were logged.
type recordedLog struct {
	logging.Logger

	mu    sync.Mutex
	links []string
}

func (l *recordedLog) Info(_ string, keysAndValues ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.links = append(l.links, keysAndValues[1].(string))
}

// all returns the paths of the links.
func (l *recordedLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var paths []string
	for _, link := range l.links {
		paths = append(paths, strings.TrimPrefix(link, "http://127.0.0.1:8082"))
	}

	return paths
}

// A site is a server with its log, and the cookie of a reader.
type site struct {
	*server

	t      *testing.T
	log    *recordedLog
	cookie *http.Cookie
}

// newSite returns a site that has announced its first link.
func newSite(t *testing.T, x *fixture) *site {
	t.Helper()
	log := &recordedLog{Logger: logging.NewNopLogger()}
	s := newServer(x.read, Options{Provider: "provider-buckets", Version: "v1.2.3", Logger: log})
	s.login.announce("127.0.0.1:8082")

	return &site{server: s, t: t, log: log}
}

// signedIn returns a site whose reader has a session.
func signedIn(t *testing.T, x *fixture) *site {
	t.Helper()
	s := newSite(t, x)
	s.enter(s.log.all()[0])

	return s
}

// enter opens a link, and keeps the cookie.
func (s *site) enter(link string) {
	s.t.Helper()
	w := s.do(http.MethodGet, link)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusOK || len(cookies) != 1 {
		s.t.Fatalf("link %s: status %d, %d cookies", link, w.Code, len(cookies))
	}
	s.cookie = cookies[0]
}

// do sends a request, changed by the functions.
func (s *site) do(method, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	if r.Host = "127.0.0.1:8082"; s.cookie != nil {
		r.AddCookie(s.cookie)
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)

	return w
}

// page returns the text of a page.
func (s *site) page(path string) string {
	s.t.Helper()
	w := s.do(http.MethodGet, path)
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s: status %d", path, w.Code)
	}

	return w.Body.String()
}
