package connection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Version returns a version of settings, such as the spec of a ProviderConfig, for Cache.Acquire. It is a hash of
// their JSON and does not reveal them.
//
// Do not use the generation of an object as version if the Resolver returns Missing. A deletion increases the
// generation, so an object that is being deleted would lose its connection.
func Version(settings any) (string, error) {
	image, err := json.Marshal(settings)
	if err != nil {
		return "", errors.Wrap(err, "cannot marshal the settings")
	}
	sum := sha256.Sum256(image)

	return hex.EncodeToString(sum[:8]), nil
}
