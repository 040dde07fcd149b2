package provider

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// metricsOptions returns the options of the metrics server.
func metricsOptions(o Options) server.Options {
	out := server.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure}
	if o.MetricsSecure {
		out.FilterProvider = GuardMetrics
		// A client without permission could keep the server busy by streams that HTTP/2 cancels.
		out.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}

	return out
}

// Limits of the requests of a guard: they are few, and must not use up the rate of the provider.
const (
	reviewTimeout = 5 * time.Second
	reviewQPS     = 5
	reviewBurst   = 10
)

// A guard permits reads of metrics to users that the API server permits to get the path. It asks at each
// scrape, by a TokenReview and a SubjectAccessReview. (That of controller-runtime, in its package filters,
// needs the module k8s.io/apiserver.)
type guard struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
}

// GuardMetrics returns a filter that serves metrics only for a bearer token of a user that the API server
// permits to get the path, such as one that is bound to the role of deploy/base/metrics-reader.yaml. The
// provider has to be bound to that of metrics-role.yaml, which permits the reviews.
//
// The reviews are counted separately from the provider's requests: by another user agent, and against a
// limit of their own.
func GuardMetrics(cfg *rest.Config, _ *http.Client) (server.Filter, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = Name + "/metrics"
	cfg.RateLimiter, cfg.QPS, cfg.Burst = nil, reviewQPS, reviewBurst

	tokens, err := authenticationclient.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client")
	}

	access, err := authorizationclient.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client")
	}

	return guard{tokens.TokenReviews(), access.SubjectAccessReviews()}.filter, nil
}

// filter is the filter of a metrics server.
func (g guard) filter(log logr.Logger, metrics http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
		defer cancel()

		switch code, err := g.judge(ctx, r); {
		case err != nil:
			log.Error(err, "Cannot review a read of metrics")
			http.Error(w, "cannot review this read of metrics: the log of the provider says why", http.StatusInternalServerError)
		case code != http.StatusOK:
			http.Error(w, http.StatusText(code), code)
		default:
			metrics.ServeHTTP(w, r)
		}
	}), nil
}

// judge returns the status code for a request: 200 if it is permitted.
func (g guard) judge(ctx context.Context, r *http.Request) (code int, err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}

	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}

	review, err = g.tokens.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return 0, errors.Wrap(err,
			"cannot review the token: bind the provider's account to a role like that of deploy/base/metrics-role.yaml")
	}

	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}

	access, err := g.access.Create(ctx, accessOf(review.Status.User, r), metav1.CreateOptions{})

	switch {
	case err != nil:
		return 0, errors.Wrap(err,
			"cannot review the access to metrics: "+
				"bind the provider's account to a role like that of deploy/base/metrics-role.yaml")
	case !access.Status.Allowed:
		return http.StatusForbidden, nil
	default:
		return http.StatusOK, nil
	}
}

// accessOf returns the review of whether a user may do what the request does.
func accessOf(user authenticationv1.UserInfo, r *http.Request) *authorizationv1.SubjectAccessReview {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}

	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}}
}
