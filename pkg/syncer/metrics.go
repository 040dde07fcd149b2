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

// The limits of what is asked about readers of metrics, apart from those of the syncers.
const (
	reviewTimeout = 5 * time.Second
	reviewQPS     = 5
	reviewBurst   = 10
)

// A metricsGuard lets a user read metrics whom the host's API server lets get their path.
// It asks at each scrape, by a TokenReview and a SubjectAccessReview. (That of
// controller-runtime, in its package filters, needs the module k8s.io/apiserver.)
type metricsGuard struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
}

// guardMetrics returns the filter of the server of metrics. The process has to be allowed to
// create token reviews and subject access reviews, as by the role system:auth-delegator.
func guardMetrics(host *rest.Config) (metricsserver.Filter, error) {
	host = rest.AddUserAgent(rest.CopyConfig(host), "metrics")
	host.RateLimiter, host.QPS, host.Burst = nil, reviewQPS, reviewBurst
	tokens, err := authenticationclient.NewForConfig(host)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for token reviews")
	}
	access, err := authorizationclient.NewForConfig(host)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for access reviews")
	}
	return metricsGuard{tokens.TokenReviews(), access.SubjectAccessReviews()}.filter, nil
}

func (g metricsGuard) filter(log logr.Logger, metrics http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
		defer cancel()
		switch code, err := g.judge(ctx, r); {
		case err != nil:
			log.Error(err, "Cannot tell who may read metrics")
			http.Error(w, "cannot tell who may read metrics: the log of the process says why", http.StatusInternalServerError)
		case code != http.StatusOK:
			http.Error(w, http.StatusText(code), code)
		default:
			metrics.ServeHTTP(w, r)
		}
	}), nil
}

// judge returns the code of the answer: 200 if the request is let in.
func (g metricsGuard) judge(ctx context.Context, r *http.Request) (int, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}
	review, err := g.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, errors.Wrap(err, "cannot ask the host whose token is shown: the process needs a role like system:auth-delegator")
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	access, err := g.access.Create(ctx, accessReview(review.Status.User, r), metav1.CreateOptions{})
	switch {
	case err != nil:
		return 0, errors.Wrap(err, "cannot ask the host who may read metrics: the process needs a role like system:auth-delegator")
	case !access.Status.Allowed:
		return http.StatusForbidden, nil
	default:
		return http.StatusOK, nil
	}
}

// accessReview asks whether a user may do what the request does.
func accessReview(user authenticationv1.UserInfo, r *http.Request) *authorizationv1.SubjectAccessReview {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}}
}
