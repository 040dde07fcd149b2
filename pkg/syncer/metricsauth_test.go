package syncer

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// newReviewServer returns the configuration of an API server that authenticates the
// tokens of two users and allows one of them to get metrics.
func newReviewServer(t *testing.T, refuses bool) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if refuses {
			http.Error(w, "{}", http.StatusForbidden)
			return
		}
		var answer any
		if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
			review := &authenticationv1.TokenReview{}
			if err := json.NewDecoder(r.Body).Decode(review); err != nil {
				t.Error(err)
			}
			review.Status.Authenticated = review.Spec.Token != "unknown"
			review.Status.User = authenticationv1.UserInfo{
				Username: review.Spec.Token, Extra: map[string]authenticationv1.ExtraValue{"e": {"x"}},
			}
			answer = review
		} else {
			review := &authorizationv1.SubjectAccessReview{}
			if err := json.NewDecoder(r.Body).Decode(review); err != nil {
				t.Error(err)
			}
			of := review.Spec.NonResourceAttributes
			review.Status.Allowed = review.Spec.User == "prometheus" &&
				*of == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"} && review.Spec.Extra["e"][0] == "x"
			answer = review
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// TestMetricsFilter verifies that metrics are served only to users that the API server
// allows to get them.
func TestMetricsFilter(t *testing.T) {
	cases := map[string]struct {
		reason        string
		authorization string
		refuses       bool
		want          int
	}{
		"NoToken":  {"There is no token.", "", false, http.StatusUnauthorized},
		"Password": {"It is not a token.", "Basic cHJvbWV0aGV1czo=", false, http.StatusUnauthorized},
		"Empty":    {"The token is empty.", "Bearer ", false, http.StatusUnauthorized},
		"Stranger": {"The token is not authenticated.", "Bearer unknown", false, http.StatusUnauthorized},
		"Tenant":   {"The user is not authorized.", "Bearer tenant", false, http.StatusForbidden},
		"Reader":   {"The user is authorized.", "Bearer prometheus", false, http.StatusOK},
		"NoRole":   {"The process is not allowed to review.", "Bearer prometheus", true, http.StatusInternalServerError},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			filter, err := newMetricsFilter(newReviewServer(t, tc.refuses))
			if err != nil {
				t.Fatal(err)
			}
			shown := false
			guarded, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { shown = true }))
			if err != nil {
				t.Fatal(err)
			}
			request, answer := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody), httptest.NewRecorder()
			if tc.authorization != "" {
				request.Header.Set("Authorization", tc.authorization)
			}
			guarded.ServeHTTP(answer, request)
			if answer.Code != tc.want || shown != (tc.want == http.StatusOK) {
				t.Errorf("%s\nwant %d, got %d; served: %t", tc.reason, tc.want, answer.Code, shown)
			}
		})
	}
}

// TestMetricsOptions verifies that metrics are authorized unless they are insecure.
func TestMetricsOptions(t *testing.T) {
	if o := metricsOptions(&rest.Config{}, ":8443", false); !o.SecureServing || o.FilterProvider == nil ||
		len(o.TLSOpts) != 1 {
		t.Errorf("by default: %+v", o)
	}
	if o := metricsOptions(&rest.Config{}, ":8080", true); o.SecureServing || o.FilterProvider != nil {
		t.Errorf("insecure: %+v", o)
	}
}

// TestFence verifies that writes are sent only while the process holds the lease.
func TestFence(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	lease := controller.NewLease(&acquirableLock{}, 10*time.Second, controller.WithLeaseClock(now))
	sent := 0
	f := fence{lease, now, roundTrip(func(*http.Request) (*http.Response, error) { sent++; return nil, nil })}
	send := func(method string) bool {
		before := sent
		answer, err := f.RoundTrip(httptest.NewRequest(method, "/api", strings.NewReader("{}")))
		if answer != nil {
			_ = answer.Body.Close()
		}
		if sent == before && !errors.Is(err, ErrNotLeader) {
			t.Errorf("%s: got error %v", method, err)
		}
		return sent > before
	}
	want := func(reason string, get, patch bool) {
		t.Helper()
		if send(http.MethodGet) != get || send(http.MethodPatch) != patch || send(http.MethodDelete) != patch {
			t.Error(reason)
		}
	}
	want("before it leads it only reads", true, false)
	if err := lease.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil {
		t.Fatal(err)
	}
	want("it leads", true, true)
	now.SetTime(now.Now().Add(10 * time.Second))
	want("it was suspended for longer than its lease", true, false)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An acquirableLock is a lock that can always be acquired.
type acquirableLock struct{ resourcelock.Interface }

func (*acquirableLock) Identity() string { return "me" }

func (*acquirableLock) Update(ctx context.Context, _ resourcelock.LeaderElectionRecord) error {
	return ctx.Err()
}
