package syncer

import (
	"context"
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
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Limits for the authentication and authorization of metrics requests. They are separate
// from the client limits of the syncers.
const (
	reviewTimeout = 5 * time.Second
	reviewQPS     = 5
	reviewBurst   = 10
)

// A metricsAuthorizer serves metrics to users that the host's API server allows to get the path of
// the request. It sends a TokenReview and a SubjectAccessReview per request. (The filter in
// controller-runtime's package filters would require the module k8s.io/apiserver.)
type metricsAuthorizer struct {
	tokenReviews  authenticationclient.TokenReviewInterface
	accessReviews authorizationclient.SubjectAccessReviewInterface
}

// newMetricsFilter returns the filter of the metrics server. The process needs the permission to
// create token reviews and subject access reviews, for example with the role system:auth-delegator.
func newMetricsFilter(host *rest.Config) (metricsserver.Filter, error) {
	host = rest.AddUserAgent(rest.CopyConfig(host), "metrics")
	host.RateLimiter, host.QPS, host.Burst = nil, reviewQPS, reviewBurst
	tokens, err := authenticationclient.NewForConfig(host)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client for token reviews")
	}
	access, err := authorizationclient.NewForConfig(host)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client for access reviews")
	}
	return metricsAuthorizer{tokens.TokenReviews(), access.SubjectAccessReviews()}.filter, nil
}

// filter wraps the handler of metrics.
func (g metricsAuthorizer) filter(log logr.Logger, metrics http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
		defer cancel()
		switch code, err := g.authorize(ctx, r); {
		case err != nil:
			log.Error(err, "Cannot authorize a request for metrics")
			http.Error(w, "cannot authorize the request: see the log of the process", http.StatusInternalServerError)
		case code != http.StatusOK:
			http.Error(w, http.StatusText(code), code)
		default:
			metrics.ServeHTTP(w, r)
		}
	}), nil
}

// authorize returns the status code of the response: 200 if the request is authorized.
func (g metricsAuthorizer) authorize(ctx context.Context, r *http.Request) (int, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}
	review, err := g.tokenReviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return 0, errors.Wrap(err, "cannot review the token: the process needs a role like system:auth-delegator")
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	access, err := g.accessReviews.Create(ctx, newAccessReview(review.Status.User, r), metav1.CreateOptions{})
	switch {
	case err != nil:
		return 0, errors.Wrap(err, "cannot review the access: the process needs a role like system:auth-delegator")
	case !access.Status.Allowed:
		return http.StatusForbidden, nil
	default:
		return http.StatusOK, nil
	}
}

// newAccessReview returns the access review for a user and the verb and path of a request.
func newAccessReview(user authenticationv1.UserInfo, r *http.Request) *authorizationv1.SubjectAccessReview {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}}
}
