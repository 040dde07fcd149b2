package systemtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
)

// A reviewer is an API server that reviews tokens and the access to metrics.
type reviewer struct {
	t      *testing.T
	refuse bool // it forbids all reviews

	agents []string // user agents of the requests
	access []authorizationv1.SubjectAccessReviewSpec
}

func (s *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.agents = append(s.agents, r.UserAgent())
	w.Header().Set("Content-Type", "application/json")

	switch {
	case s.refuse:
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/apis/authentication.k8s.io/v1/tokenreviews":
		review := authenticationv1.TokenReview{}
		s.decode(r, &review)

		if name := review.Spec.Token; name != "unknown" {
			review.Status.Authenticated = true
			review.Status.User = authenticationv1.UserInfo{
				Username: name, UID: "1", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"e": {"x"}},
			}
		}

		_ = json.NewEncoder(w).Encode(review)
	case r.URL.Path == "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		review := authorizationv1.SubjectAccessReview{}
		s.decode(r, &review)
		s.access = append(s.access, review.Spec)
		review.Status.Allowed = review.Spec.User == "prometheus"
		_ = json.NewEncoder(w).Encode(review)
	default:
		s.t.Errorf("unexpected request for %s", r.URL.Path)
	}
}

func (s *reviewer) decode(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		s.t.Error(err)
	}
}

// TestGuardMetrics requests metrics as any client that reaches the port, and counts the requests to the API
// server.
func TestGuardMetrics(t *testing.T) {
	cases := map[string]struct {
		reason        string
		authorization string
		refuse        bool
		want          int
		requests      int
	}{
		"NoToken":  {"Without a token there is no review.", "", false, http.StatusUnauthorized, 0},
		"Password": {"It is no token.", "Basic cHJvbWV0aGV1czo=", false, http.StatusUnauthorized, 0},
		"Empty":    {"It is no token either.", "Bearer ", false, http.StatusUnauthorized, 0},
		"Unknown":  {"The API server does not know the token.", "Bearer unknown", false, http.StatusUnauthorized, 1},
		"Tenant": {
			"The API server knows the user, who has no permission.",
			"Bearer tenant", false, http.StatusForbidden, 2,
		},
		"Reader": {"This user has the permission.", "Bearer prometheus", false, http.StatusOK, 2},
		"NoRole": {"Without reviews, all reads are refused.", "Bearer prometheus", true, http.StatusInternalServerError, 1},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := &reviewer{t: t, refuse: tc.refuse}

			server := httptest.NewServer(asked)
			defer server.Close()

			cfg := &rest.Config{
				Host: server.URL, UserAgent: provider.Name, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
			}

			filter, err := provider.GuardMetrics(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}

			shown := 0

			guarded, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { shown++ }))
			if err != nil {
				t.Fatal(err)
			}

			request, answer := httptest.NewRequest(http.MethodGet, "/metrics", nil), httptest.NewRecorder()
			if tc.authorization != "" {
				request.Header.Set("Authorization", tc.authorization)
			}

			guarded.ServeHTTP(answer, request)

			if answer.Code != tc.want || (shown == 1) != (tc.want == http.StatusOK) {
				t.Errorf("%s\nwant %d, got %d; shown: %d", tc.reason, tc.want, answer.Code, shown)
			}

			if want := slices.Repeat([]string{provider.Name + "/metrics"}, tc.requests); !slices.Equal(want, asked.agents) {
				t.Errorf("%s\nthe user agents of the requests are %q, want %q", tc.reason, asked.agents, want)
			}

			for _, got := range asked.access {
				want := authorizationv1.SubjectAccessReviewSpec{
					User: got.User, UID: "1", Groups: []string{"g"}, Extra: map[string]authorizationv1.ExtraValue{"e": {"x"}},
					NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want, +requested:\n%s", diff)
				}
			}
		})
	}
}
