// A profile of samples alone becomes a predictor.
#pragma once

#include <utility>

#include "analysis/prediction/predictor.h"

namespace ridgeline::analysis {

/// With the models of the profile's samples, whatever models it has.
inline Predictor fitted_predictor(Profile profile) {
  fit_models(profile);
  return make_predictor(profile);
}

}  // namespace ridgeline::analysis
