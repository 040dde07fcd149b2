package recipes

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/errors"
)

type tokenServer struct{ sent []string }

func (s *tokenServer) SetToken(_ context.Context, _ string, token []byte) error {
	s.sent = append(s.sent, string(token))
	if len(s.sent) == 1 {
		return errors.New("the response is lost")
	}

	return nil
}

// TestTokenIsSentUntilItIsRecorded sends a token again until Update succeeds, and again after a change of the Secret.
func TestTokenIsSentUntilItIsRecorded(t *testing.T) {
	s, u := &tokenServer{}, user("ann")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: "1"}, Data: map[string][]byte{"token": []byte("first")},
	}
	c := &TokenClient{API: s, Secret: secret}
	for range 4 {
		if !c.upToDate(u) {
			_ = c.Update(t.Context(), u)
		}
	}
	secret.ResourceVersion, secret.Data["token"] = "2", []byte("second")
	for range 2 {
		if !c.upToDate(u) {
			_ = c.Update(t.Context(), u)
		}
	}
	if len(s.sent) != 3 || s.sent[1] != "first" || s.sent[2] != "second" {
		t.Errorf("sent %v", s.sent)
	}
}
